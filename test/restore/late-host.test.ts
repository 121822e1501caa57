import { expect, test, vi } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';
import { ageStep } from '../support/records.ts';
import { openSite, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: 100_000, interval: 200 };
const DAY_MS = 24 * 60 * 60 * 1000;
const LATER = `${new Date(Date.now() + 30 * DAY_MS).toISOString().slice(0, 10)}T06:00:00.000Z`;

test.each([['along with Redis'], ['by itself, as the runbook says']])(
  'a row that was settled after a write-off, and paid, is not paid again when the old host starts %s',
  async (how) => {
    const site = await openSite(processes, { switches: ['quoteLifeMs=4000'] });
    const one = await site.worker('one');
    const two = await site.worker('two');
    const first = await site.submit('first.csv', ['A-0', 'A-1', 'A-2', 'A-3']);
    await site.untilEnded(first);
    const runId = await site.submit('file.csv', ['Y-0'], '--at', LATER);
    // The second host works alone; Redis is copied, then it pays a file, and sends a row that never reaches the service.
    await stopped(one);
    site.copy();
    const others = await site.submit(
      'others.csv',
      Array.from({ length: 10 }, (_, index) => `B-${index}`),
    );
    await site.untilEnded(others);
    await site.set('dropBeforeCommit=1');
    await site.resume(runId);
    await vi.waitUntil(async () => (await site.outcomesOf(runId))['unknown'] === 1, WAIT);
    two.kill('SIGKILL');
    await two.ended;
    await site.set('dropBeforeCommit=0');

    // Redis and that host are lost: the copy is put back, and two people write the host off.
    await site.putBack();
    const { id } = JSON.parse(site.textOf('two/ledger.json')) as { id: string };
    const again = await site.worker('one');
    const writeOff = (name: string) => site.run(['write-off', id, '--reason', 'burnt', '--as', name]);
    await vi.waitUntil(async () => (await writeOff('anna')).code === 0, { timeout: 30_000, interval: 1000 });
    await vi.waitUntil(
      async () => {
        await writeOff('bob');
        return (await site.outcomesOf(runId))['held'] === 1;
      },
      { timeout: 60_000, interval: 1000 },
    );
    // A day later the service has no payment of that reference, and two people let the row go.
    const place = { redis: site.server.redis, prefix: '{payrun}', runId, line: 2 };
    await ageStep(place, { step: 1, ms: 2 * DAY_MS });
    await site.release();
    await site.resume(runId);
    await site.does(['allow', runId, 'Y-0', '--reason', 'not there', '--as', 'anna']);
    await site.does(['allow', runId, 'Y-0', '--reason', 'not there', '--as', 'bob', '--yes']);
    await vi.waitUntil(async () => (await site.outcomesOf(runId))['paid'] === 1, WAIT);
    const workers = [again];
    if (how === 'along with Redis') {
      // The power fails; everything starts again, the old host too.
      await stopped(again);
      await site.server.restart('SIGKILL');
      workers.push(await site.worker('two'), await site.worker('one'));
    } else {
      workers.push(await site.worker('two'));
    }
    const isOpen = async () => (await site.run(['doctor', '--json'])).stdout;
    await vi.waitUntil(async () => !(await isOpen()).includes('have yet to'), WAIT);
    await vi.waitUntil(async () => (await site.outcomesOf(runId))['unknown'] === 0, WAIT);
    for (const name of ['anna', 'bob']) await site.run(['release', '--as', name]);
    await site.run(['resume', runId]);
    await vi.waitUntil(() => site.paidTwice().length > 0, { timeout: 15_000, interval: 500 }).catch(() => {});
    for (const worker of workers) await stopped(worker);
    expect(site.paidTwice()).toEqual([]);
  },
  2 * TEST_MS_MAX,
);
