import { describe, expect, test } from 'vitest';
import { choicesOf, indicationsOf } from '../../src/runs/decide/choices.ts';
import { entry, payoutOf } from '../pay/examples.ts';

const DAY_MS = 86_400_000;

describe('against a payment', () => {
  test('speaks no look-up that the service did not answer, however many there were', () => {
    const { notPaid } = indicationsOf(payoutOf({ state: 'unknown', attempts: 1, lookUps: 3, notFoundAt: null }), {
      hasAllCompared: true,
    });
    expect(notPaid.filter((sign) => sign.includes('look-up') || sign.includes('knew no'))).toEqual([]);
  });

  test('speaks that the service knew none, with the time', () => {
    const notFoundAt = Date.UTC(2026, 0, 31, 9);
    const { notPaid } = indicationsOf(payoutOf({ state: 'unknown', attempts: 1, lookUps: 3, notFoundAt }), {
      hasAllCompared: true,
    });
    expect(notPaid).toContain('the service knew no payment for it at 2026-01-31T09:00:00.000Z');
  });
});

test('what a lost host may have sent is decided a day after the latest step of its history, although the clock of Redis stepped back since', () => {
  const recordedAt = Date.UTC(2026, 0, 31, 9);
  const history = [entry('ready', recordedAt), entry('held', recordedAt - 3 * DAY_MS)];
  const unsent = { quoteId: null, quoteExpiresAt: null, armedAt: null };
  const payout = payoutOf({ ...unsent, state: 'held', reasonCode: 'E_DIR_LOST', history });
  const whyNot = (now: number) =>
    choicesOf(payout, { now, quoteGraceMs: 1000, hasAllCompared: true }).find(({ decision }) => decision === 'allow')
      ?.whyNot;
  expect(whyNot(recordedAt + DAY_MS - 1)).toContain('2026-02-01T09:00:00.000Z');
  expect(whyNot(recordedAt + DAY_MS + 1)).toBeNull();
});

test('of a row without a quote nothing is called never sent while a host has yet to say what it sent', () => {
  const held = payoutOf({ state: 'held', quoteId: null, attempts: 0, reasonCode: 'E_DUP_LIKELY' });
  const rules = { now: 0, quoteGraceMs: 1000, hasAllCompared: false };
  expect(indicationsOf(held, rules).notPaid).toEqual([]);
  expect(choicesOf(held, rules).map(({ whyNot }) => whyNot)).toEqual(
    Array(4).fill(expect.stringContaining('not every host has said what it sent')),
  );
});
