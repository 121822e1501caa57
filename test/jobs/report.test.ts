import { beforeAll, expect, test } from 'vitest';
import { reportJob } from '../../jobs/report.ts';
import type { Run } from '../../src/payout.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { armPayout, freshLedger, movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';

const HOUR_MS = 3_600_000;

const server = await useTestRedis();
let run: Run;
let settled: Run;

/** A finished run of which one payment is on its way still, and the same once that has arrived. */
beforeAll(async () => {
  const ledger = await freshLedger(server.redis);
  const runId = await recordRun(ledger, { lines: [2] });
  await armPayout(ledger, { runId, line: 2 }, 'q-2');
  await movePayout(ledger, { runId, line: 2 }, 'accepted');
  await finishRun(ledger, runId);
  const read = async (): Promise<Run> => {
    const found = await ledger.runs.read(runId);
    if (found === undefined) throw new Error('there is no run');
    return found;
  };
  run = await read();
  await movePayout(ledger, { runId, line: 2 }, 'completed');
  settled = await read();
});

function waitMs(of: Run, overMs: number): number {
  const { payload, delayMs } = reportJob(of, (of.finishedAt ?? 0) + overMs);
  expect(payload).toEqual({ runId: 'r1' });
  return delayMs ?? 0;
}

test('the first report comes soon, and the last one soon after all has settled, however long that took', () => {
  expect(waitMs(run, 0)).toBe(10_000);
  expect(waitMs(run, 5 * HOUR_MS)).toBe(10_000);
  expect(waitMs({ ...settled, reportVersion: 7 }, 5 * HOUR_MS)).toBe(10_000);
});

test('while payments settle, reports become rarer, but one comes each hour', () => {
  const again = { ...run, reportVersion: 1 };
  expect([0, 10_000, 60_000, HOUR_MS, 50 * HOUR_MS].map((overMs) => waitMs(again, overMs))).toEqual([
    10_000,
    10_000,
    60_000,
    HOUR_MS,
    HOUR_MS,
  ]);
});

test('a run whose payments take two days is reported fewer than 70 times', () => {
  let reports = 1;
  for (let overMs = 10_000; overMs < 48 * HOUR_MS; reports++) {
    overMs += waitMs({ ...run, reportVersion: reports }, overMs);
  }
  expect(reports).toBeLessThan(70);
});

const idOf = (of: Run): string => reportJob(of, of.finishedAt ?? 0).id;

test('the last report does not wait for one that waits longer, and none is kept waiting by one that is being written', () => {
  const ids = [run, { ...run, reportVersion: 1 }, { ...settled, reportVersion: 1 }, { ...settled, reportVersion: 2 }];
  expect(new Set(ids.map(idOf)).size).toBe(4);
});
