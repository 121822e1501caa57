import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { useProcesses } from '../support/payrun-processes.ts';
import { idOf, openSite, settledWhileHidden, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();
const WAIT = { timeout: 100_000, interval: 100 };
/** How late the service shows a payment. */
const HIDDEN_MS = 30_000;
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

const record = z.object({
  state: z.string(),
  history: z.array(z.object({ to: z.string() })),
});

test.each([
  ['two', 'one'],
  ['one', 'two'],
])(
  'a quote that was proven dead and is paid all the same pays its row once, after a restore too, when host %s compares before host %s',
  async (...order) => {
    const site = await openSite(processes, { switches: ['quoteLifeMs=6000'] });
    const read = async () => record.parse(JSON.parse((await site.run(['show', runId, 'Y-0', '--json'], 'one')).stdout));
    const one = await site.worker('one');
    await site.untilEnded(await site.submit('known.csv', ['K-1']));
    const knownAt = Date.now();
    const runId = await site.submit('file.csv', ['Y-0'], '--at', LATER);
    const two = await site.worker('two');
    await vi.waitUntil(() => Date.now() - knownAt > HIDDEN_MS, WAIT);

    // One is paid, and stands still before it reads the answer; the copy.
    two.kill('SIGSTOP');
    const paidAt = Date.now();
    await site.set(`visibilityDelayMs=${HIDDEN_MS}`, 'answerDelayMs.payments=1500');
    await site.resume(runId);
    await vi.waitUntil(() => site.booked() > 1, { timeout: 60_000, interval: 5 });
    one.kill('SIGSTOP');
    site.copy();

    // Two proves that quote dead, and the request with the next one is lost.
    await site.set('answerDelayMs.payments=0', 'dropBeforeCommit=1');
    two.kill('SIGCONT');
    await vi.waitUntil(async () => {
      const states = (await read()).history.map(({ to }) => to);
      return states.lastIndexOf('ready') > 0 && states.at(-1) === 'unknown';
    }, WAIT);
    two.kill('SIGKILL');
    await two.ended;

    // One reads the yes.
    one.kill('SIGCONT');
    await vi.waitUntil(async () => (await read()).state === 'held', WAIT);
    await stopped(one);

    await site.set('dropBeforeCommit=0');
    await site.hideSince(paidAt);
    await site.putBack();
    const server = async () => /run_id:(\w+)/.exec(await site.server.redis.info('server'))?.[1] ?? '?';
    const workers = [];
    for (const host of order) {
      workers.push(await site.worker(host));
      await vi.waitUntil(async () => {
        await site.hideSince(paidAt);
        const compared = await site.server.redis.hget('{payrun}:dirs', idOf(site, host));
        return compared?.includes(await server()) === true;
      }, WAIT);
    }
    await settledWhileHidden(site, runId, paidAt);
    for (const worker of workers) await stopped(worker);
    expect(site.paidTwice()).toEqual([]);
    // For a breach, or because nothing can prove that its other quote was not paid, by which of the two came first.
    expect((await read()).state).toBe('held');
  },
  2 * TEST_MS_MAX,
);
