import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, settledWhileHidden, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 100 };
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

test.each(['one', 'two'])(
  'a yes that another process (host "%s") than the one that armed had from a look-up keeps its quote from being proven dead after a restore',
  async (armer) => {
    const site = await openSite(processes, { switches: ['quoteLifeMs=4000'] });
    const first = await site.worker('one');
    const known = await site.submit('known.csv', ['K-1']);
    await site.untilEnded(known);
    const knownAt = Date.now();
    const references = Array.from({ length: 8 }, (_, index) => `Y-${index}`);
    const runId = await site.submit('file.csv', references, '--at', LATER);
    const second = await site.worker(armer);
    await vi.waitUntil(() => Date.now() - knownAt > 25_000, WAIT);
    site.copy();
    // The second process sends all, and its answers are lost; then it hangs, and the first one looks them up.
    await site.set('dropAfterCommit=1', 'lookUpError500=1');
    first.kill('SIGSTOP');
    const paidAt = Date.now();
    await site.resume(runId);
    await vi.waitUntil(() => site.booked() === 9, WAIT);
    await vi.waitUntil(async () => (await site.outcomesOf(runId))['unknown'] === 8, WAIT);
    second.kill('SIGKILL');
    await second.ended;
    await site.set('dropAfterCommit=0', 'lookUpError500=0');
    first.kill('SIGCONT');
    await site.untilEnded(runId);
    await vi.waitUntil(async () => (await site.outcomesOf(runId))['paid'] === 8, WAIT);
    await stopped(first);

    await site.putBack();
    // For some minutes the service shows no payment that is younger than the copy.
    await site.hideSince(paidAt);
    const workers = [await site.worker('one')];
    // The one that has no intent lines, but the answers, compares first.
    const { id } = JSON.parse(site.textOf('one/ledger.json')) as { id: string };
    const runIdOf = async () => /run_id:(\w+)/.exec(await site.server.redis.info('server'))?.[1] ?? '?';
    if (armer === 'two')
      await vi.waitUntil(
        async () => ((await site.server.redis.hget('{payrun}:dirs', id)) ?? '').includes(await runIdOf()),
        WAIT,
      );
    if (armer === 'two') workers.push(await site.worker('two'));
    await settledWhileHidden(site, runId, paidAt);
    for (const worker of workers) await stopped(worker);
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);
