import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { refusedAndPaid, retryAfterRestore, WAIT } from './hidden-payments.ts';
import { openSite, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

test(
  'a payment that was refused, and found after the copy, is in no retry file after a restore while the service does not show it',
  async () => {
    const site = await openSite(processes, { switches: ['quoteLifeMs=15000'] });
    const { worker, ...run } = await refusedAndPaid(site);
    site.copy();
    await vi.waitUntil(async () => {
      const { pending = 0, paid = 0 } = await site.outcomesOf(run.runId);
      return pending + paid === 4;
    }, WAIT);
    await stopped(worker);
    await site.set('refusedAfterCommit=0');

    await retryAfterRestore(site, run);
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);
