import { describe, expect, test } from 'vitest';
import { decidableFrom } from '../../src/runs/decide/decision.ts';
import { payoutOf } from '../pay/examples.ts';

const DAY_MS = 86_400_000;
const HELD_AT = 1_800_000_000_000;
const RULES = { quoteGraceMs: 5000 };

describe('people may say that a payout was not paid', () => {
  test('from the end of its quote and the grace on', () => {
    expect(decidableFrom(payoutOf({ quoteExpiresAt: HELD_AT, armedAt: 1 }), 'not-paid', RULES)).toBe(HELD_AT + 5000);
  });

  test('from the end of the longer of its two lives, where the service and Redis tell the time differently', () => {
    const payout = payoutOf({ quoteExpiresAt: HELD_AT, quoteLifeMs: 60_000, armedAt: HELD_AT - 50_000 });
    expect(decidableFrom(payout, 'not-paid', RULES)).toBe(HELD_AT + 10_000 + 5000);
  });

  test('a day after it was armed, where the quote has no end', () => {
    expect(decidableFrom(payoutOf({ quoteExpiresAt: null, armedAt: HELD_AT }), 'not-paid', RULES)).toBe(
      HELD_AT + DAY_MS,
    );
  });

  test('a day after it was held, where a breach brought the quote to light and nobody knows when it was armed', () => {
    const history = [{ at: HELD_AT, to: 'held' as const, actor: 'w', reason: 'E_BREACH', exchange: '' }];
    const payout = payoutOf({ state: 'held', quoteExpiresAt: null, armedAt: null, history });
    expect(decidableFrom(payout, 'not-paid', RULES)).toBe(HELD_AT + DAY_MS);
  });

  test('never, where nothing at all is known', () => {
    const payout = payoutOf({ state: 'held', quoteExpiresAt: null, armedAt: null, history: [] });
    expect(decidableFrom(payout, 'not-paid', RULES)).toBeGreaterThan(Date.UTC(9999, 0));
  });
});
