import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { openSite, settledWhileHidden, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: 100_000, interval: 100 };
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

test(
  'a yes to a quote that two hosts sent, which the first one of them learned, keeps it from being proven dead after a restore',
  async () => {
    // The quotes outlive the lock of a job that a stopped host holds.
    const site = await openSite(processes, { switches: ['quoteLifeMs=45000', 'retryAfter=3'] });
    const one = await site.worker('one');
    await site.untilEnded(await site.submit('known.csv', ['K-1']));
    const knownAt = Date.now();
    const references = Array.from({ length: 6 }, (_, index) => `Y-${index}`);
    const runId = await site.submit('file.csv', references, '--at', LATER);
    const two = await site.worker('two');
    await vi.waitUntil(() => Date.now() - knownAt > 25_000, WAIT);
    site.copy();
    // The first host sends all; the service has too much to do (429), so all of them may come again with the same quotes.
    two.kill('SIGSTOP');
    await site.set('tooMany=1');
    const paidAt = Date.now();
    await site.resume(runId);
    await vi.waitUntil(async () => (await site.outcomesOf(runId))['unknown'] === 6, WAIT);
    one.kill('SIGSTOP');
    // The second one sends them again, and its answers are lost; then it is gone, and the first one looks them up.
    await site.set('tooMany=0', 'dropAfterCommit=1', 'lookUpError500=1');
    two.kill('SIGCONT');
    await vi.waitUntil(() => site.booked() > 1, WAIT);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    two.kill('SIGKILL');
    await two.ended;
    const sent = site.booked() - 1;
    await site.set('dropAfterCommit=0', 'lookUpError500=0');
    one.kill('SIGCONT');
    await site.untilEnded(runId);
    await vi.waitUntil(async () => (await site.outcomesOf(runId))['paid'] === 6, WAIT);
    // It goes on alone for a while.
    await site.untilEnded(await site.submit('later.csv', ['L-0']));
    await stopped(one);
    expect(sent).toBeGreaterThan(0);

    await site.putBack();
    // For some minutes the service shows no payment that is younger than the copy.
    await site.hideSince(paidAt);
    const workers = [await site.worker('one')];
    // The host that learned of the payments compares before the one that sent them last.
    const { id } = JSON.parse(site.textOf('one/ledger.json')) as { id: string };
    const runIdOf = async () => /run_id:(\w+)/.exec(await site.server.redis.info('server'))?.[1] ?? '?';
    await vi.waitUntil(
      async () => ((await site.server.redis.hget('{payrun}:dirs', id)) ?? '').includes(await runIdOf()),
      WAIT,
    );
    workers.push(await site.worker('two'));
    await settledWhileHidden(site, runId, paidAt);
    for (const worker of workers) await stopped(worker);
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);
