import { describe, expect, test } from 'vitest';
import { CAPABILITIES } from '../../src/config/config.ts';
import { canBeProvenDead, type DeathRules, judgeNotFound, triedEnough } from '../../src/pay/look-up/proof-of-death.ts';
import type { Payout } from '../../src/payout.ts';
import { EXPIRES_AT, entry, NOW, payoutOf } from './examples.ts';

const GRACE_MS = 300_000;
const GRACE_ENDS = EXPIRES_AT + GRACE_MS;
const LATE = GRACE_ENDS + 60_000;
const RULES: DeathRules = {
  quoteGraceMs: GRACE_MS,
  notFoundGapMs: 30_000,
  capabilities: new Set(CAPABILITIES),
  credentials: 'cred',
  now: LATE,
};

describe('a not-found (architecture.md, rule 8)', () => {
  test.each<[string, ReturnType<typeof judgeNotFound>, number, number | null]>([
    ['before the end of the quote', 'early', EXPIRES_AT - 1000, null],
    ['at the end of the quote', 'early', EXPIRES_AT, null],
    ['within the grace', 'early', EXPIRES_AT + 1000, null],
    ['at the very end of the grace', 'early', GRACE_ENDS, null],
    ['just after the grace', 'first', GRACE_ENDS + 1, null],
    ['the same once more', 'early', GRACE_ENDS + 1, GRACE_ENDS + 1],
    ['a little less than a gap later', 'early', GRACE_ENDS + 30_000, GRACE_ENDS + 1],
    ['a gap later', 'dead', GRACE_ENDS + 30_001, GRACE_ENDS + 1],
    ['much later', 'dead', GRACE_ENDS + 86_400_000, GRACE_ENDS + 1],
    ['dated before the first', 'early', GRACE_ENDS + 1, LATE],
  ])('%s is %s', (...[, verdict, date, notFoundAt]) => {
    expect(judgeNotFound(payoutOf({ notFoundAt }), date, RULES)).toBe(verdict);
  });

  test.each([
    { what: 'by Redis the quote cannot be over yet', quoteLifeMs: null, now: GRACE_ENDS },
    { what: 'by Redis it cannot be over, however short its life seemed', quoteLifeMs: 1000, now: GRACE_ENDS },
    {
      what: 'the life that the quote had is not over, however soon Redis takes it for over',
      quoteLifeMs: 86_400_000,
      now: NOW + 86_400_000 + GRACE_MS,
    },
  ])('counts not while $what: a service that is ahead brings no proof forward', ({ quoteLifeMs, now }) => {
    const payout = payoutOf({ quoteLifeMs, notFoundAt: GRACE_ENDS + 1 });
    expect(judgeNotFound(payout, LATE, { ...RULES, now })).toBe('early');
    expect(judgeNotFound(payout, LATE, { ...RULES, now: now + 1 })).toBe('dead');
  });

  test.each<[string, Partial<Payout>, Partial<DeathRules>, number | null]>([
    ['without a Date', {}, {}, null],
    ['for a quote without expiresAt', { quoteExpiresAt: null }, {}, LATE],
    ['after a 2xx was seen', { seen2xx: true }, {}, LATE],
    ['under other credentials than the attempt', {}, { credentials: 'other' }, LATE],
    ['of a payout that does not know its credentials', { credentials: null }, {}, LATE],
    ['without any capability', {}, { capabilities: new Set() }, LATE],
    ...CAPABILITIES.map((missing): [string, Partial<Payout>, Partial<DeathRules>, number] => [
      `without the capability ${missing}`,
      {},
      { capabilities: new Set(CAPABILITIES.filter((name) => name !== missing)) },
      LATE,
    ]),
  ])('%s never counts, not as the first and not as the second', (...[, changes, rules, date]) => {
    for (const notFoundAt of [null, GRACE_ENDS + 1]) {
      const verdict = judgeNotFound(payoutOf({ ...changes, notFoundAt }), date, { ...RULES, ...rules });
      expect(['early', 'never']).toContain(verdict);
    }
  });
});

describe('canBeProvenDead', () => {
  test('holds with an end, no 2xx and all capabilities, whatever the credentials', () => {
    expect(canBeProvenDead(payoutOf(), RULES)).toBe(true);
    expect(canBeProvenDead(payoutOf({ credentials: 'other' }), RULES)).toBe(true);
  });

  test.each<[string, Partial<Payout>, Partial<DeathRules>]>([
    ['an end', { quoteExpiresAt: null }, {}],
    ['a doubt about a 2xx', { seen2xx: true }, {}],
    ['a capability', {}, { capabilities: new Set(CAPABILITIES.slice(1)) }],
  ])('does not hold without %s', (_what, changes, rules) => {
    expect(canBeProvenDead(payoutOf(changes), { ...RULES, ...rules })).toBe(false);
  });
});

describe('triedEnough', () => {
  const DAY_MS = 86_400_000;
  test.each<[string, Partial<Payout>, number, boolean]>([
    ['4 quotes', { quotes: 4 }, NOW + 1000, false],
    ['5 quotes', { quotes: 5 }, NOW + 1000, true],
    ['almost 24 hours since the first arming', {}, NOW + DAY_MS - 1, false],
    ['24 hours since the first arming', {}, NOW + DAY_MS, true],
    [
      '24 hours since the first of two armings',
      { history: [entry('armed', NOW), entry('quoted', NOW), entry('armed', NOW + DAY_MS - 1)] },
      NOW + DAY_MS,
      true,
    ],
    ['a payout that was never armed', { armedAt: null, history: [entry('ready', NOW)] }, NOW + 2 * DAY_MS, false],
  ])('says of %s whether it is enough', (...[, changes, now, isEnough]) => {
    expect(triedEnough(payoutOf(changes), now) !== undefined).toBe(isEnough);
  });
});
