import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, settledWhileHidden, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 100 };
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

test.each(['a look-up after a refusal', 'people who settle'])(
  'a payment that was found by %s keeps its quote from being proven dead after a restore',
  async (how) => {
    const site = await openSite(processes, { switches: ['quoteLifeMs=8000'] });
    const first = await site.worker('one');
    const known = await site.submit('known.csv', ['K-1']);
    await site.untilEnded(known);
    const knownAt = Date.now();
    const references = Array.from({ length: 4 }, (_, index) => `Y-${index}`);
    const runId = await site.submit('file.csv', references, '--at', LATER);
    await vi.waitUntil(() => Date.now() - knownAt > 25_000, WAIT);
    site.copy();
    const isByPeople = how === 'people who settle';
    await site.set(...(isByPeople ? ['dropAfterCommit=1', 'lookUpError500=1'] : ['refusedAfterCommit=1']));
    const paidAt = Date.now();
    await site.resume(runId);
    await vi.waitUntil(() => site.booked() === 5, WAIT);
    if (isByPeople) {
      await vi.waitUntil(async () => (await site.outcomesOf(runId))['unknown'] === 4, WAIT);
      first.kill('SIGKILL');
      await first.ended;
      await site.set('lookUpError500=0');
      for (const row of JSON.parse((await site.run(['list', runId, '--json'])).stdout) as {
        reference: string;
        quoteId: string;
      }[])
        await site.byTwo(['resolve', runId, row.reference, '--paid', row.quoteId, '--reason', 'seen']);
    }
    await vi.waitUntil(async () => {
      const { pending = 0, paid = 0 } = await site.outcomesOf(runId);
      return pending + paid === 4;
    }, WAIT);
    await stopped(first);
    await site.set('dropAfterCommit=0', 'refusedAfterCommit=0');

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
