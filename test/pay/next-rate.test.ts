import {
  array,
  assert,
  boolean,
  constant,
  double,
  type IPropertyWithHooks,
  integer,
  nat,
  oneof,
  property,
  record,
} from 'fast-check';
import { describe, expect, test } from 'vitest';
import { firstRate, nextRate, type Rate, type RateBounds, type SeenAnswers } from '../../src/pay/next-rate.ts';

const bounds = record({ floor: integer({ min: 1, max: 500 }), more: nat(5000) }).map(
  ({ floor, more }): RateBounds => ({ floor, top: floor + more }),
);
const seen = record({ well: nat(5000), refused: oneof(constant(0), nat(100)) });
const step = record({ seen, laterMs: integer({ min: -5000, max: 60_000 }) });
const rate = record({
  perSecond: double({ min: 0.1, max: 10_000, noNaN: true }),
  limit: oneof(constant(null), double({ min: 0.1, max: 10_000, noNaN: true })),
  isEstimate: boolean(),
  cutAt: integer({ min: 0, max: 2_000_000 }),
});

const START = 1_000_000;

const situation = record({ bounds, now: integer({ min: 0, max: 4_000_000 }) });

function always(
  isSo: (before: Rate, answers: SeenAnswers, place: { now: number; bounds: RateBounds }) => boolean,
): IPropertyWithHooks<[Rate, SeenAnswers, { now: number; bounds: RateBounds }]> {
  return property(rate, seen, situation, (before, answers, { now, bounds: within }) => {
    const perSecond = Math.min(within.top, Math.max(within.floor, before.perSecond));
    return isSo({ ...before, perSecond }, answers, { now, bounds: within });
  });
}

describe('the next rate', () => {
  test('is never below the floor nor above the top, whatever was seen and whatever time it is', () => {
    assert(
      property(bounds, array(step, { maxLength: 100 }), oneof(constant(undefined), rate), (within, steps, found) => {
        let now = START;
        let at = found ?? firstRate(within);
        return steps.every(({ seen: answers, laterMs }) => {
          now += laterMs;
          at = nextRate(at, answers, { now, bounds: within });
          return at.perSecond >= within.floor && at.perSecond <= within.top;
        });
      }),
    );
  });
  test('never falls for payments that were made', () => {
    assert(
      always((before, { well }, place) => {
        return nextRate(before, { well, refused: 0 }, place).perSecond >= before.perSecond;
      }),
    );
  });
  test('never grows for a refusal, and is the half of it at the least', () => {
    assert(
      always((before, answers, place) => {
        const { perSecond } = nextRate(before, { ...answers, refused: answers.refused + 1 }, place);
        return perSecond <= before.perSecond && perSecond >= before.perSecond / 2;
      }),
    );
  });
  test('stays as it is while nothing was seen', () => {
    assert(
      always((before, _answers, place) => {
        return nextRate(before, { well: 0, refused: 0 }, place).perSecond === before.perSecond;
      }),
    );
  });
  test('is at most doubled by one look, however many payments were made', () => {
    assert(
      always((before, { well }, place) => {
        return nextRate(before, { well, refused: 0 }, place).perSecond <= before.perSecond * 2;
      }),
    );
  });
  test('is halved once by all that was refused within a second', () => {
    assert(
      always((before, answers, place) => {
        const refused = { ...answers, refused: answers.refused + 1 };
        const cut = nextRate({ ...before, cutAt: 0 }, refused, { ...place, now: place.now + 1000 });
        const again = nextRate(cut, refused, { ...place, now: place.now + 1999 });
        return again.perSecond === cut.perSecond && again.cutAt === cut.cutAt;
      }),
    );
  });
  test('is the fixed one where floor and top are the same', () => {
    assert(
      always((before, answers, { now, bounds: { top } }) => {
        return nextRate(before, answers, { now, bounds: { floor: top, top } }).perSecond === top;
      }),
    );
  });
  test('is halved again by what is refused a second later, also where the clock stepped back', () => {
    const within = { floor: 1, top: 400 };
    const one = nextRate(
      { perSecond: 400, limit: null, isEstimate: false, cutAt: 0 },
      { well: 9, refused: 3 },
      { now: START, bounds: within },
    );
    expect(one).toMatchObject({ perSecond: 200, cutAt: START });
    expect(nextRate(one, { well: 0, refused: 1 }, { now: START + 1000, bounds: within }).perSecond).toBe(100);
    expect(nextRate(one, { well: 0, refused: 1 }, { now: START - 5000, bounds: within }).perSecond).toBe(100);
  });
});

test('a limit that is met while the rate grows is what a second came to; later it is a little below the rate that met it', () => {
  const within = { floor: 1, top: 400 };
  const refused = { well: 0, refused: 1 };
  const growing = nextRate({ perSecond: 100, limit: null, isEstimate: false, cutAt: 0 }, refused, {
    now: START,
    bounds: within,
  });
  expect(growing.limit).toBe(60);
  const steady = nextRate({ perSecond: 70, limit: 79, isEstimate: false, cutAt: START }, refused, {
    now: START + 5000,
    bounds: within,
  });
  expect(steady.limit).toBeCloseTo(66.5, 5);
});

test('a limit that held for half a minute is kept when one request near it is refused, and gives way when that comes sooner', () => {
  const at = (now: number): Rate =>
    nextRate(
      { perSecond: 79.5, limit: 80, isEstimate: false, cutAt: START },
      { well: 0, refused: 1 },
      { now, bounds: { floor: 1, top: 400 } },
    );
  expect(at(START + 30_000)).toMatchObject({ limit: 80, perSecond: 39.75 });
  expect(at(START + 29_999).limit).toBeCloseTo(78.4, 5);
});

const TICK_MS = 50;
const LATE_TICKS = 10;

/** A service with a limit of its own, which the payer learns of half a second late, and which then makes it wait. */
function pay({
  limit,
  floor,
  top,
  waitMs,
  seconds,
  stallEveryMs = Number.POSITIVE_INFINITY,
}: {
  limit: number;
  floor: number;
  top: number;
  waitMs: number;
  seconds: number;
  stallEveryMs?: number;
}) {
  const within = { floor, top };
  let at = firstRate(within);
  let owed = 0;
  let waitUntil = 0;
  let paid = 0;
  let refusedInAll = 0;
  const sent: number[] = [];
  const late: Rate[] = [];
  for (let now = 0; now < seconds * 1000; now += TICK_MS) {
    late.push(at);
    const { perSecond } = late[Math.max(0, late.length - LATE_TICKS)] ?? at;
    owed = now < waitUntil ? 0 : owed + (perSecond * TICK_MS) / 1000;
    // After a stall, 200 ms worth of requests leave at once.
    if (now > 0 && now % stallEveryMs === 0) owed += (perSecond * 200) / 1000;
    const seenNow = { well: 0, refused: 0 };
    for (; owed >= 1; owed -= 1) {
      while ((sent[0] ?? now) <= now - 1000) sent.shift();
      if (sent.length < limit) seenNow.well += 1;
      else seenNow.refused += 1;
      if (sent.length < limit) sent.push(now);
    }
    if (seenNow.refused > 0) waitUntil = now + waitMs;
    paid += seenNow.well;
    refusedInAll += seenNow.refused;
    at = nextRate(at, seenNow, { now: START + now, bounds: within });
  }
  return { perSecond: paid / seconds, refusedShare: refusedInAll / (paid + refusedInAll) };
}

describe('a service with a limit that it does not say', () => {
  test.each([
    ['50 a second, and a second to wait', { limit: 50, floor: 5, top: 400, waitMs: 1000, seconds: 240 }],
    ['50 a second, and five seconds to wait', { limit: 50, floor: 5, top: 400, waitMs: 5000, seconds: 600 }],
    ['50 a second, below a top that is near', { limit: 50, floor: 5, top: 60, waitMs: 1000, seconds: 240 }],
    [
      '50 a second, with a bunch of late requests each minute',
      { limit: 50, floor: 5, top: 400, waitMs: 1000, seconds: 1200, stallEveryMs: 60_000 },
    ],
    ['500 a second', { limit: 500, floor: 10, top: 5000, waitMs: 1000, seconds: 240 }],
  ])('of %s is paid at nine tenths of it, and refuses one in fifty at most', (_name, service) => {
    const found = pay(service);
    expect(found.perSecond).toBeGreaterThanOrEqual(service.limit * 0.9);
    expect(found.refusedShare).toBeLessThanOrEqual(0.02);
  });
});

/** What came of `seconds` at a service that allows `allowed` payments in each second, with a look four times a second. */
function paidAt(allowed: number, seconds: number): { made: number; refused: number } {
  const within = { floor: 5, top: 400 };
  let reached = firstRate(within);
  let [made, refused, left, owed] = [0, 0, 0, 0];
  for (let quarter = 0; quarter < 4 * seconds; quarter++) {
    if (quarter % 4 === 0) left = allowed;
    owed += reached.perSecond / 4;
    const asked = Math.floor(owed);
    owed -= asked;
    const well = Math.min(asked, left);
    left -= well;
    made += well;
    refused += asked - well;
    reached = nextRate(reached, { well, refused: asked - well }, { now: START + quarter * 250, bounds: within });
  }
  return { made, refused };
}

test.each([10, 20, 50, 100, 300])('a service that allows %i a second is paid at 0.9 of it at least', (allowed) => {
  const { made, refused } = paidAt(allowed, 300);
  expect(made / 300).toBeGreaterThanOrEqual(0.9 * allowed);
  expect(refused / (made + refused)).toBeLessThanOrEqual(0.02);
});
