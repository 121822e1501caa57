import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { payoutFile } from '../cli/payrun.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { type Listed, openSite, rowsByReference, stopped, TEST_MS_MAX } from './site.ts';

const processes = useProcesses();

const WAIT = { timeout: TEST_MS_MAX, interval: 100 };
const LATER = `${new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10)}T06:00:00.000Z`;

test(
  'a worker that was stopped while it paid, and whose host was written off after a restore meanwhile, sends nothing twice when it goes on',
  async () => {
    const site = await openSite(processes, {
      switches: ['answerDelayMs.payments=400', 'quoteLifeMs=5000'],
      settings: { PAYRUN_CONCURRENCY: '4' },
    });
    for (const worker of [await site.worker('one'), await site.worker('two')]) await stopped(worker);
    const one = await site.worker('one');
    const references = Array.from({ length: 24 }, (_, index) => `S-${index}`);
    const runId = await site.submit('file.csv', references, '--at', LATER);
    site.copy();
    await stopped(one);

    const two = await site.worker('two');
    await site.resume(runId);
    await vi.waitUntil(() => site.booked() >= 5, WAIT);
    two.kill('SIGSTOP');
    const { id } = JSON.parse(site.textOf('two/ledger.json')) as { id: string };
    await site.putBack();
    const again = await site.worker('one');
    await site.writeOff(id);
    await site.release();
    await site.resume(runId);
    await site.untilEnded(runId);

    two.kill('SIGCONT');
    await two.said('wrote this data directory off');
    await stopped(two);
    const back = await site.worker('two');
    const isBack = async (): Promise<boolean> =>
      (await site.run(['doctor'])).stdout.includes('payouts were restored as unknown');
    await vi.waitUntil(isBack, WAIT);
    await site.release();
    await site.resume(runId);
    const paid = async (): Promise<number> =>
      [...(await rowsByReference(site, runId)).values()].filter(({ outcome }) => outcome === 'paid').length;
    await vi.waitUntil(async () => (await paid()) === site.booked(), WAIT);
    await stopped(again);
    await stopped(back);
    expect(site.paidTwice()).toEqual([]);
    const rows = [...(await rowsByReference(site, runId)).values()];
    const others = rows.filter(({ outcome }) => outcome !== 'paid');
    expect(others.map(({ reasonCode }) => reasonCode)).toEqual(others.map(() => 'E_DIR_LOST'));
  },
  TEST_MS_MAX,
);

test(
  'a service that gives equal rows one quote, and loses answers: after a kill and a restore each row is paid once or held',
  async () => {
    const site = await openSite(processes, {
      switches: [
        'sameQuoteForEqualRequests=true',
        'quoteLifeMs=4000',
        'dropBeforeCommit=0.2',
        'dropAfterCommit=0.2',
        'answerDelayMs.payments=100',
      ],
    });
    const first = await site.worker();
    const references = Array.from({ length: 12 }, (_, index) => `Q-${index}`);
    writeFileSync(join(site.cwd, 'equal.csv'), payoutFile(references.map((reference) => [reference, '10.00'])));
    const { runId } = JSON.parse((await site.run(['submit', 'equal.csv', '--json'])).stdout) as Listed;
    await vi.waitUntil(() => site.booked() >= 1, WAIT);
    site.copy();
    await vi.waitUntil(() => site.booked() >= 4, WAIT);
    first.kill('SIGKILL');
    await first.ended;
    await site.putBack();
    const second = await site.worker();
    await site.release();
    await site.resume(runId);
    await site.untilEnded(runId);
    await stopped(second);
    expect(site.paidTwice()).toEqual([]);
    const outcomes = [...(await rowsByReference(site, runId)).values()].map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === 'held').length + site.booked()).toBe(references.length);
  },
  TEST_MS_MAX,
);

test(
  'a file that a lost host paid when it was handed in --again is not new after a restore and a write-off: nothing of it is sent',
  async () => {
    const site = await openSite(processes);
    for (const worker of [await site.worker('one'), await site.worker('two')]) await stopped(worker);
    const first = await site.worker('one');
    const cancelled = await site.submit('file.csv', ['B-1', 'B-2'], '--at', LATER);
    await site.does(['cancel', cancelled, '--reason', 'not now', '--as', 'anna']);
    const isCancelled = async (): Promise<boolean> =>
      (await site.listed()).find(({ runId }) => runId === cancelled)?.outcomes['cancelled'] === 2;
    await vi.waitUntil(isCancelled, WAIT);
    await stopped(first);
    site.copy();

    const paid = await site.submit('file.csv', ['B-1', 'B-2'], '--again');
    const lost = await site.worker('two');
    await site.untilEnded(paid);
    await stopped(lost);
    const { id } = JSON.parse(site.textOf('two/ledger.json')) as { id: string };
    renameSync(join(site.cwd, 'two'), join(site.cwd, 'away'));
    await site.putBack();

    const worker = await site.worker('one');
    await site.writeOff(id);
    const again = await site.submit('file.csv', ['B-1', 'B-2'], '--again');
    await site.release();
    await site.resume(again);
    const isHeld = async (): Promise<boolean> =>
      [...(await rowsByReference(site, again)).values()].every(({ outcome }) => outcome === 'held');
    await vi.waitUntil(isHeld, WAIT);
    await stopped(worker);
    expect(site.paidTwice()).toEqual([]);
  },
  TEST_MS_MAX,
);
