import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { type Listed, openSite, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: 100_000, interval: 100 };
/** A host without a worker, such as that of the web app, or of the people's commands. */
const OFFICE = 'office';

test(
  'a payment that a look-up for people found, on a host without a worker, is not forgotten by a restore while the service does not show it',
  async () => {
    const site = await openSite(processes, { switches: ['quoteLifeMs=15000'] });
    const first = await site.worker('one');
    await site.untilEnded(await site.submit('known.csv', ['K-1']));
    const knownAt = Date.now();
    await vi.waitUntil(() => Date.now() - knownAt > 25_000, WAIT);
    await site.set('refusedAfterCommit=1', 'visibilityDelayMs=10000');
    const paidAt = Date.now();
    const references = ['Y-0', 'Y-1', 'Y-2', 'Y-3'];
    const runId = await site.submit('file.csv', references);
    await vi.waitUntil(async () => (await site.outcomesOf(runId))['rejected'] === 4, WAIT);
    await stopped(first);
    site.copy();
    await site.set('refusedAfterCommit=0', 'visibilityDelayMs=0');
    // Somebody wants to settle them as not paid; payrun asks the service, finds the payments, and writes that down.
    for (const reference of references) {
      const words = ['resolve', runId, reference, '--not-paid', '--reason', 'refused', '--as', 'anna'];
      expect((await site.run(words, OFFICE)).stderr).toContain('the service has its payment');
    }
    const again = await site.worker('one');
    await vi.waitUntil(async () => (await site.outcomesOf(runId))['paid'] === 4, WAIT);
    await stopped(again);

    await site.putBack();
    // For some minutes the service shows no payment that is younger than the copy.
    await site.hideSince(paidAt);
    const second = await site.worker('one');
    const path = join(site.cwd, 'retry.csv');
    const made = await vi
      .waitUntil(
        async () => {
          await site.hideSince(paidAt);
          const { stdout, stderr } = await site.run(['retry-file', runId, '--output', path]);
          return (stdout + stderr).includes(`wrote ${path}`);
        },
        { timeout: 60_000, interval: 1000 },
      )
      .catch(() => false);
    if (made) {
      const handed = await site.run(['submit', 'retry.csv', '--again', '--json']);
      const { runId: retried } = JSON.parse(handed.stdout) as Listed;
      await site.run(['release', '--as', 'anna']);
      await site.run(['release', '--as', 'bob']);
      await site.run(['resume', retried]);
      await vi.waitUntil(async () => {
        await site.hideSince(paidAt);
        return (await site.outcomesOf(retried))['waiting'] === 0;
      }, WAIT);
    }
    await stopped(second);
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);
