import { describe, expect, test } from 'vitest';
import type { Random } from '../../src/clock.ts';
import { nextLookUpMs, nextQuoteMs, QUOTE_FAILURES_MAX } from '../../src/pay/due.ts';
import { EXPIRES_AT, NOW } from './examples.ts';

const RULES = { now: NOW, quoteGraceMs: 300_000, notFoundGapMs: 30_000 };
const PROVABLE_AT = EXPIRES_AT + RULES.quoteGraceMs + 1000;

describe('nextLookUpMs', () => {
  test.each<[number, number]>([
    [0, 500],
    [1, 1000],
    [2, 2000],
    [5, 16_000],
    [6, 30_000],
    [60, 30_000],
  ])('doubles: after %i look-ups it is %i ms', (lookUps, ms) => {
    expect(nextLookUpMs({ quoteExpiresAt: EXPIRES_AT, notFoundAt: null, lookUps }, RULES)).toBe(ms);
    expect(nextLookUpMs({ quoteExpiresAt: null, notFoundAt: null, lookUps }, RULES)).toBe(ms);
  });

  test.each<[string, number, number]>([
    ['does not sleep past the time from which an answer counts', PROVABLE_AT - 700, 700],
    ['asks often once an answer counts', PROVABLE_AT, 5000],
    ['asks often long after that', PROVABLE_AT + 1e9, 5000],
  ])('%s', (_what, now, ms) => {
    expect(nextLookUpMs({ quoteExpiresAt: EXPIRES_AT, notFoundAt: null, lookUps: 9 }, { ...RULES, now })).toBe(ms);
  });

  test.each<[number, number]>([
    [30_000, 30_000],
    [0, 500],
  ])('waits a gap of %i ms between the two answers that count (%i)', (notFoundGapMs, ms) => {
    const payout = { quoteExpiresAt: EXPIRES_AT, notFoundAt: PROVABLE_AT, lookUps: 9 };
    expect(nextLookUpMs(payout, { ...RULES, now: PROVABLE_AT, notFoundGapMs })).toBe(ms);
  });
});

function random(fraction: number): Random {
  return { fraction: () => fraction, bytes: () => Buffer.alloc(0), uuid: () => '' };
}

describe('nextQuoteMs', () => {
  test.each<[number, number]>([
    [0, 500],
    [1, 500],
    [2, 1000],
    [3, 2000],
    [7, 32_000],
    [8, 60_000],
    [99, 60_000],
  ])('after %i failures it is from half of %i ms to all of it', (failures, full) => {
    expect(nextQuoteMs(failures, random(0))).toBe(full / 2);
    expect(nextQuoteMs(failures, random(0.5))).toBe((full * 3) / 4);
    expect(nextQuoteMs(failures, random(0.999_999))).toBeLessThanOrEqual(full);
  });
});

test('a payout is held after 8 quote requests that failed in a row', () => {
  expect(QUOTE_FAILURES_MAX).toBe(8);
});
