import { expect, test } from 'vitest';
import { isRowless } from '../../src/cli/look/awaiting-row.ts';
import { PAYOUT_STATES, type Run } from '../../src/payout.ts';

function countsOf(some: Partial<Run['counts']>): Run['counts'] {
  const none = Object.fromEntries([...PAYOUT_STATES, 'refused'].map((state) => [state, 0])) as Run['counts'];
  return { ...none, ...some };
}

test.each<[what: string, run: Parameters<typeof isRowless>[0], waits: boolean]>([
  ['is known from intent logs alone', { rows: 0, state: 'recording', counts: countsOf({ unknown: 2 }) }, true],
  ['is known from them and was cancelled', { rows: 0, state: 'cancelled', counts: countsOf({ unknown: 2 }) }, true],
  ['was then recorded in part', { rows: 3, state: 'recording', counts: countsOf({ unknown: 2 }) }, true],
  ['was then recorded in part and cancelled', { rows: 3, state: 'cancelled', counts: countsOf({ unknown: 2 }) }, true],
  [
    'is recorded in part, and nothing of it was sent',
    { rows: 3, state: 'recording', counts: countsOf({ ready: 2 }) },
    false,
  ],
  [
    'was cancelled when all was recorded',
    { rows: 3, state: 'cancelled', counts: countsOf({ unknown: 2, cancelled: 1 }) },
    false,
  ],
  ['is paid', { rows: 3, state: 'paying', counts: countsOf({ unknown: 3 }) }, false],
])('a run that %s', (_what, run, waits) => {
  expect(isRowless(run)).toBe(waits);
});
