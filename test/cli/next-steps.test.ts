import { describe, expect, test } from 'vitest';
import { handedInBefore, nextSteps } from '../../src/cli/run/next-steps.ts';
import { payment, payout, runOf } from '../report/rows.ts';

const paid = payment(2, 'completed');

describe('at the end of a summary stands what waits, with the command for it', () => {
  test.each([
    [[paid, payout(3, { state: 'held' })], {}, '1 held -> payrun list RUN --outcome held'],
    [[paid, payout(3, { state: 'unknown' })], {}, '1 unknown, looked up until it is known -> payrun run a.csv'],
    [[paid, payment(3, 'accepted')], {}, '1 under way at the service -> payrun run a.csv'],
    [[paid, payment(3, 'failed')], {}, '1 not paid -> payrun retry-file RUN --output again.csv'],
    [[paid, payout(3, {})], { state: 'paying' as const }, '1 wait to be sent -> payrun run a.csv'],
    [[paid], { state: 'recording' as const }, 'being recorded -> hand in the same file again to carry on'],
    [[paid], { state: 'paused' as const }, 'paused -> payrun resume RUN --as NAME'],
    [
      [paid],
      { state: 'awaiting-approval' as const },
      'waits for approval -> payrun approve RUN --sha256 SHA256 --as NAME',
    ],
  ])('%#', (rows, changes, line) => {
    const run = { ...runOf(rows), ...changes };
    expect(nextSteps(run, { carriesOn: 'payrun run a.csv' })).toEqual([
      line.replace('RUN', run.id).replace('SHA256', run.fileSha256),
    ]);
  });

  test('what is known of held rows stands in the place of their number', () => {
    const run = runOf([payout(2, { state: 'held' })]);
    expect(nextSteps(run, { carriesOn: 'payrun worker', held: ['1 held: E_LIMIT -> x'] })).toEqual([
      '1 held: E_LIMIT -> x',
    ]);
  });

  test('payments under way for which the same command does not wait, with the one that follows them', () => {
    const run = runOf([payment(2, 'accepted')]);
    expect(nextSteps(run, { carriesOn: 'payrun run a.csv', settles: 'payrun worker' })).toEqual([
      '1 under way at the service -> payrun worker',
    ]);
  });

  test('nothing, where all is paid', () => {
    expect(nextSteps(runOf([paid]), { carriesOn: 'payrun worker' })).toEqual([]);
  });
});

const AT = Date.UTC(2026, 10, 23, 4, 7, 30);

test.each([
  [{ state: 'finished' as const, now: Date.UTC(2026, 10, 23, 9) }, 'finished 04:07 UTC'],
  [{ state: 'cancelled' as const, now: Date.UTC(2026, 10, 24, 1) }, 'cancelled 2026-11-23 04:07 UTC'],
])('of a file that was handed in before: $state', ({ state, now }, words) => {
  const run = { ...runOf([paid]), state, finishedAt: AT };
  expect(handedInBefore(run, now)).toBe(`Handed in before as run ${run.id}, ${words}. Nothing was paid now.`);
});
