import { describe, expect, test } from 'vitest';
import type { PayoutReading } from '../../src/ledger/payouts/acts.ts';
import { isLeftArmed, type NextStep, nextStep } from '../../src/pay/next-step.ts';
import { PAYOUT_STATES, type Payout } from '../../src/payout.ts';
import { EXPIRES_AT, NOW, payoutOf, QUOTE_ID } from './examples.ts';

const SELF = { owner: 'me', armDeadlineMs: 2000, credentials: payoutOf({}).credentials ?? '' };

function stepOf(payout: Partial<Payout>, beside: Partial<PayoutReading> = {}): NextStep['kind'] {
  const reading = { payout: payoutOf(payout), waitMs: 0, halt: null, disproved: [], now: NOW + 1000, ...beside };
  return nextStep(reading, SELF).kind;
}

describe('nextStep', () => {
  test('does nothing for a payout that is not there', () => {
    expect(nextStep({ payout: undefined, waitMs: 9, halt: 'x', disproved: [], now: NOW }, SELF).kind).toBe('nothing');
  });

  test.each(PAYOUT_STATES.filter((state) => !['ready', 'quoted', 'armed'].includes(state)))(
    'does nothing for one that is %s',
    (state) => {
      expect(stepOf({ state })).toBe('nothing');
      expect(stepOf({ state }, { halt: 'x', waitMs: 5 })).toBe('nothing');
    },
  );

  test('quotes one that is ready', () => {
    expect(stepOf({ state: 'ready', quoteId: null, quoteExpiresAt: null })).toBe('quote');
  });

  test('arms one that is quoted again, with the same quote', () => {
    const payout = payoutOf({ state: 'quoted' });
    expect(nextStep({ payout, waitMs: 0, halt: null, disproved: [], now: NOW }, SELF)).toEqual({
      kind: 'arm-again',
      payout,
      quoteId: QUOTE_ID,
    });
  });

  test.each<[string, Partial<Payout>, number]>([
    ['has less than half a second to live', {}, EXPIRES_AT - 500],
    ['ended', {}, EXPIRES_AT + 1],
    ['has no known end', { quoteExpiresAt: null }, NOW],
    ['was armed five times', { armings: 5 }, NOW],
    ['was sent under other credentials', { credentials: 'others' }, NOW],
  ])('doubts one that is quoted and whose quote %s, halted or not', (_what, changes, now) => {
    expect(stepOf({ state: 'quoted', ...changes }, { now })).toBe('mark-unknown');
    expect(stepOf({ state: 'quoted', ...changes }, { now, halt: 'x', waitMs: 5 })).toBe('mark-unknown');
  });

  test.each<[string, Partial<Payout>, number]>([
    ['lives for longer than half a second', {}, EXPIRES_AT - 501],
    ['was armed four times', { armings: 4 }, NOW],
  ])('does not doubt one that is quoted and whose quote %s', (_what, changes, now) => {
    expect(stepOf({ state: 'quoted', ...changes }, { now })).toBe('arm-again');
  });

  test.each(['ready', 'quoted'] as const)('stops and waits before anything happens to one that is %s', (state) => {
    expect(stepOf({ state }, { halt: 'x' })).toBe('stop');
    expect(stepOf({ state }, { halt: 'x', waitMs: 5 })).toBe('stop');
    expect(stepOf({ state }, { waitMs: 5 })).toBe('wait');
  });

  test.each<[string, NextStep['kind'], string, number]>([
    ['another process within the deadline', 'nothing', 'other', 2000],
    ['another process longer ago than the deadline', 'mark-unknown', 'other', 2001],
    ['another process, by a clock that stepped back since', 'mark-unknown', 'other', -3_600_000],
    ['this process, however long ago', 'nothing', 'me', 100_000],
  ])('sees one that was armed by %s as %s', (...[, kind, armedBy, agoMs]) => {
    expect(stepOf({ state: 'armed', armedBy, armedAt: NOW }, { now: NOW + agoMs, halt: 'x' })).toBe(kind);
  });
});

test('an armed payout that does not know when it was armed is left', () => {
  expect(isLeftArmed(payoutOf({ state: 'armed', armedAt: null }), { ...SELF, now: NOW })).toBe(true);
});
