import { expect, test } from 'vitest';
import { isReportDue } from '../../src/inbox/report-due.ts';
import { runOf } from '../report/rows.ts';

const ENDED = 1_000_000;

function isDue(accepted: number, afterMs: number): boolean {
  const run = runOf([], { state: 'finished', rows: accepted });
  const ended = { ...run, finishedAt: ENDED, counts: { ...run.counts, accepted } };
  return isReportDue(ended, { nowMs: ENDED + afterMs, trackRatePerSecond: 5 });
}

test('the report of a run whose payments may settle in ten seconds waits for them, and no longer', () => {
  expect([isDue(43, 0), isDue(43, 9999), isDue(43, 10_000), isDue(0, 0)]).toEqual([false, false, true, true]);
});

test('where more payments are under way than are looked at in ten seconds, the report waits for nothing', () => {
  expect([isDue(50, 0), isDue(51, 0), isDue(20_000, 0)]).toEqual([false, true, true]);
});
