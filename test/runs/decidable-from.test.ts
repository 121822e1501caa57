import { expect, test } from 'vitest';
import { decidableFrom } from '../../src/runs/decide/decision.ts';
import { payoutOf } from '../pay/examples.ts';

const DAY_MS = 86_400_000;
const HELD_AT = 1_800_000_000_000;

test.each([
  ['not-paid', 'E_DIR_LOST'],
  ['not-paid', 'E_TRIED'],
] as const)(
  '%s: a quote that still lives two days after it was armed is waited for, whatever the row is held for (%s)',
  (decision, reasonCode) => {
    const history = [{ at: HELD_AT, to: 'held' as const, actor: 'anna and bob', reason: reasonCode, exchange: '' }];
    const quoteExpiresAt = HELD_AT + 2 * DAY_MS;
    const payout = payoutOf({
      state: 'held',
      reasonCode,
      quoteExpiresAt,
      quoteLifeMs: 2 * DAY_MS,
      armedAt: HELD_AT,
      history,
    });
    expect(decidableFrom(payout, decision, { quoteGraceMs: 5000 })).toBeGreaterThanOrEqual(quoteExpiresAt + 5000);
  },
);
