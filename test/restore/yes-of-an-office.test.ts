import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, settledWhileHidden, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 100 };
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

/** A host without a worker, such as that of the web app, or of the people's commands. */
const OFFICE = 'office';

test(
  'a payment that people named from a host without a worker keeps its quote from being proven dead after a restore',
  async () => {
    const site = await openSite(processes, { switches: ['quoteLifeMs=8000'] });
    const first = await site.worker('one');
    const known = await site.submit('known.csv', ['K-1']);
    await site.untilEnded(known);
    const knownAt = Date.now();
    const references = Array.from({ length: 4 }, (_, index) => `Y-${index}`);
    const runId = await site.submit('file.csv', references, '--at', LATER);
    await vi.waitUntil(() => Date.now() - knownAt > 25_000, WAIT);
    await site.set('dropAfterCommit=1', 'lookUpError500=1');
    const paidAt = Date.now();
    await site.resume(runId);
    await vi.waitUntil(() => site.booked() === 5, WAIT);
    await vi.waitUntil(async () => (await site.outcomesOf(runId))['unknown'] === 4, WAIT);
    first.kill('SIGKILL');
    await first.ended;
    // Redis is copied while it is not known what came of them.
    site.copy();
    await site.set('lookUpError500=0', 'dropAfterCommit=0');
    const rows = JSON.parse((await site.run(['list', runId, '--json'])).stdout) as {
      reference: string;
      quoteId: string;
    }[];
    for (const { reference, quoteId } of rows) {
      for (const name of ['anna', 'bob']) {
        const words = ['resolve', runId, reference, '--paid', quoteId, '--reason', 'seen', '--as', name];
        expect((await site.run(words, OFFICE)).code).toBe(0);
      }
    }
    // The worker runs for a while: it has the people's word in its copy of the audit log, and sees the payments end.
    const again = await site.worker('one');
    await vi.waitUntil(async () => (await site.outcomesOf(runId))['paid'] === 4, WAIT);
    await vi.waitUntil(() => site.copiedAudit('one').split('payout.paid-confirmed').length === 5, WAIT);
    await stopped(again);

    await site.putBack();
    // For some minutes the service shows no payment that is younger than the copy.
    await site.hideSince(paidAt);
    const second = await site.worker('one');
    await settledWhileHidden(site, runId, paidAt);
    await stopped(second);
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);
