import { expect, test } from 'vitest';
import { progressLine } from '../../src/cli/run/progress.ts';
import { openWaitLimit } from '../../src/cli/run/wait-limit.ts';
import { runOf } from '../report/rows.ts';

const LIMITS = { unknownMs: 60_000, tracksPerSecond: 5 };

function finished(accepted: number) {
  const run = runOf([], { state: 'finished', rows: accepted });
  return { ...run, counts: { ...run.counts, accepted } };
}

test('payments under way are waited for, ten seconds at most', () => {
  let at = 0;
  const waitLimit = openWaitLimit({ monotonic: () => at, now: () => at, sleep: async () => {} }, LIMITS);
  expect(waitLimit.isReached(finished(43))).toBe(false);
  at = 10_000;
  expect(waitLimit.isReached(finished(43))).toBe(true);
});

test('more payments than can be looked at in ten seconds are not waited for', () => {
  const waitLimit = openWaitLimit({ monotonic: () => 0, now: () => 0, sleep: async () => {} }, LIMITS);
  expect([50, 51, 20_000].map((accepted) => waitLimit.isReached(finished(accepted)))).toEqual([false, true, true]);
});

test('a run whose payments are under way is not called finished', () => {
  expect(progressLine(finished(43), { done: 43, perSecond: 0, isWaitedFor: true })).toContain(
    'paid; waiting for the service to settle 43, 10 s at most',
  );
  expect(progressLine(finished(20_000), { done: 20_000, perSecond: 0 })).toContain(
    'paid; 20,000 to be settled by the service;',
  );
  expect(progressLine(finished(0), { done: 0, perSecond: 0 })).toContain('finished');
});
