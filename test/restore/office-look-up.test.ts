import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { REFERENCES, refusedAndPaid, retryAfterRestore, WAIT } from './hidden-payments.ts';
import { openSite, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

/** A host without a worker, such as that of the web app, or of the people's commands. */
const OFFICE = 'office';

test(
  'a payment that a look-up for people found, on a host without a worker, is not forgotten by a restore while the service does not show it',
  async () => {
    const site = await openSite(processes, { switches: ['quoteLifeMs=15000'] });
    const { worker, ...run } = await refusedAndPaid(site);
    await stopped(worker);
    site.copy();
    await site.set('refusedAfterCommit=0', 'visibilityDelayMs=0');
    // Somebody wants to settle them as not paid; payrun asks the service, finds the payments, and writes that down.
    for (const reference of REFERENCES) {
      const words = ['resolve', run.runId, reference, '--not-paid', '--reason', 'refused', '--as', 'anna'];
      expect((await site.run(words, OFFICE)).stderr).toContain('the service has its payment');
    }
    const again = await site.worker('one');
    await vi.waitUntil(async () => (await site.outcomesOf(run.runId))['paid'] === REFERENCES.length, WAIT);
    await stopped(again);

    await retryAfterRestore(site, run);
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);
