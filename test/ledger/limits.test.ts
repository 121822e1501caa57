import { beforeEach, describe, expect, test } from 'vitest';
import type { Limit } from '../../src/config/limits.ts';
import type { ArmAnswer, ArmingLimits } from '../../src/ledger/payouts/acts.ts';
import type { PayoutRow } from '../../src/payout.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  armingOf,
  copyLedger,
  freshRows,
  movePayout,
  newLedger,
  payingRun,
  readPayout,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const DAY_MS = 86_400_000;

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
});

/** Rows of 1.00 each, all in one currency. */
function rowsOf(count: number): PayoutRow[] {
  return freshRows(count).map((row) => ({ ...row, amount: { minor: 100n, currency: 'USD' } }));
}

function limitsOf(most: Partial<Record<Limit, bigint>>, other: Partial<ArmingLimits> = {}): ArmingLimits {
  return { sums: [{ currency: 'USD', minor: 100n, most }], beneficiaryHash: 'b1', dayOffsetMs: 0, ...other };
}

async function arm(runId: string, line: number, limits: ArmingLimits): Promise<ArmAnswer> {
  return await desk.ledger.payouts.arm(armingOf(await readPayout(desk.ledger, { runId, line }), { limits }));
}

function wordOf(answer: ArmAnswer): string {
  if (answer.armed) return 'armed';
  return answer.refusal === 'limit' ? answer.limit.which : answer.refusal;
}

async function armedOf(runId: string, lines: readonly number[], limits: ArmingLimits): Promise<string[]> {
  return (await Promise.all(lines.map((line) => arm(runId, line, limits)))).map(wordOf);
}

describe('no limit is passed', () => {
  test('for a payout', async () => {
    const runId = await payingRun(desk.ledger, rowsOf(2));
    expect(wordOf(await arm(runId, 2, limitsOf({ payout: 99n })))).toBe('payout');
    expect(wordOf(await arm(runId, 2, limitsOf({ payout: 100n })))).toBe('armed');
  });

  test.each<Limit>(['run', 'day', 'beneficiary'])(
    'for a %s, to the cent, by payouts that are armed at once',
    async (limit) => {
      const runId = await payingRun(desk.ledger, rowsOf(6));
      const words = await armedOf(runId, [2, 3, 4, 5, 6, 7], limitsOf({ [limit]: 300n }));
      expect(words.toSorted()).toEqual([...Array<string>(3).fill('armed'), ...Array<string>(3).fill(limit)].toSorted());
    },
  );

  test('for a day, by two runs that go on at once', async () => {
    const runs = [await payingRun(desk.ledger, rowsOf(5)), await payingRun(desk.ledger, rowsOf(5))];
    const words = await Promise.all(runs.map((id) => armedOf(id, [2, 3, 4, 5, 6], limitsOf({ day: 700n }))));
    expect(words.flat().filter((word) => word === 'armed')).toHaveLength(7);
  });

  test('for a day, also while the clock of Redis is ahead for weeks', async () => {
    await armedOf(await payingRun(desk.ledger, rowsOf(1)), [2], limitsOf({ day: 700n }));
    const [key = ''] = await server.redis.keys(`${desk.prefix}:spent:*`);
    expect(await server.redis.pttl(key)).toBeGreaterThan(30 * 24 * 60 * 60_000);
  });

  test('but a run has its own, and so has a beneficiary', async () => {
    const [one, other] = [await payingRun(desk.ledger, rowsOf(3)), await payingRun(desk.ledger, rowsOf(3))];
    expect(await armedOf(one, [2, 3], limitsOf({ run: 100n }))).toEqual(['armed', 'run']);
    expect(await armedOf(other, [2], limitsOf({ run: 100n }))).toEqual(['armed']);
    expect(await armedOf(one, [3], limitsOf({ beneficiary: 200n }))).toEqual(['beneficiary']);
    expect(await armedOf(one, [3], limitsOf({ beneficiary: 200n }, { beneficiaryHash: 'b2' }))).toEqual(['armed']);
  });

  test('and what was refused for it changes nothing', async () => {
    const runId = await payingRun(desk.ledger, rowsOf(1));
    const before = await readPayout(desk.ledger, { runId, line: 2 });
    await arm(runId, 2, limitsOf({ payout: 1n }));
    expect(await readPayout(desk.ledger, { runId, line: 2 })).toEqual(before);
    expect(await server.redis.keys(`${desk.prefix}:spent:*`)).toEqual([]);
  });
});

describe('an amount counts once', () => {
  test('however often its payout is armed', async () => {
    const runId = await payingRun(desk.ledger, rowsOf(2));
    const limits = limitsOf({ day: 200n, run: 200n });
    for (let times = 0; times < 3; times++) {
      expect(wordOf(await arm(runId, 2, limits))).toBe('armed');
      await movePayout(desk.ledger, { runId, line: 2 }, { to: 'ready', dropQuote: 'not-sent' });
    }
    expect(wordOf(await arm(runId, 2, limits))).toBe('armed');
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'quoted', dueMs: 0 });
    expect(wordOf(await arm(runId, 2, limits))).toBe('armed');
    expect(wordOf(await arm(runId, 3, limits))).toBe('armed');
  });

  test('on the day on which it is armed, wherever that day begins', async () => {
    const runId = await payingRun(desk.ledger, rowsOf(2));
    expect(await armedOf(runId, [2], limitsOf({ day: 100n }))).toEqual(['armed']);
    expect(await armedOf(runId, [3], limitsOf({ day: 100n }, { dayOffsetMs: DAY_MS }))).toEqual(['armed']);
  });

  test('and not any more once its payout came to nothing, and that is confirmed', async () => {
    const runId = await payingRun(desk.ledger, rowsOf(3));
    const limits = limitsOf({ day: 100n, run: 100n, beneficiary: 100n });
    expect(await armedOf(runId, [2, 3], limits)).toEqual(['armed', 'run']);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'rejected' });
    expect(await armedOf(runId, [3, 4], limits)).toEqual(['run', 'run']);
    await movePayout(desk.ledger, { runId, line: 2 }, { values: { rejectionConfirmed: true }, dueMs: 'as-it-is' });
    expect(await armedOf(runId, [3, 4], limits)).toEqual(['armed', 'run']);
  });

  test('and counts on while nobody knows, when it is held, and when the payment failed later', async () => {
    const runId = await payingRun(desk.ledger, rowsOf(2));
    const limits = limitsOf({ day: 100n });
    await arm(runId, 2, limits);
    for (const to of ['unknown', 'held', 'accepted', 'failed'] as const) {
      await movePayout(desk.ledger, { runId, line: 2 }, { to });
      expect(wordOf(await arm(runId, 3, limits))).toBe('day');
    }
  });

  test('again, where its payment was refused and is found after all', async () => {
    const runId = await payingRun(desk.ledger, rowsOf(2));
    const limits = limitsOf({ day: 100n, run: 100n });
    expect(await arm(runId, 2, limits)).toMatchObject({ armed: true });
    expect(await arm(runId, 3, limits)).toMatchObject({ armed: false, refusal: 'limit' });
    // A gateway refused it for good; the look-up after the quote's end finds the payment (architecture.md, rule 7).
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'rejected', dueMs: 0 });
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'accepted', dueMs: 1000 });
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'completed' });
    expect(await arm(runId, 3, limits)).toMatchObject({ armed: false, refusal: 'limit' });
  });

  test('and not any more once two people settle its payout as not paid', async () => {
    const runId = await payingRun(desk.ledger, rowsOf(2));
    const place = { runId, line: 2 };
    const limits = limitsOf({ day: 100n, run: 100n });
    expect(await arm(runId, 2, limits)).toMatchObject({ armed: true });
    await movePayout(desk.ledger, place, { to: 'unknown', dueMs: 0 });
    await movePayout(desk.ledger, place, { to: 'held', values: { reasonCode: 'E_TRIED', reason: '' } });
    // src/runs/decide/decide.ts, notPaidMove
    const values = { reasonCode: 'E_NOT_PAID', reason: '', rejectionConfirmed: true } as const;
    const settled = await movePayout(desk.ledger, place, { to: 'rejected', dueMs: DAY_MS, values });
    expect(settled.result).toBe('moved');
    expect(await arm(runId, 3, limits)).toMatchObject({ armed: true });
  });

  test('on the day of its last arming, where Redis forgot that one and the copy has it on an earlier day', async () => {
    const { state } = desk.ledger;
    const runId = await payingRun(desk.ledger, rowsOf(2));
    const place = { runId, line: 2 };
    // Yesterday it was sent; the quote is unknown. Redis is copied.
    await arm(runId, 2, limitsOf({ day: 100n }, { dayOffsetMs: -DAY_MS }));
    await movePayout(desk.ledger, place, { to: 'unknown', dueMs: 0 });
    const putBack = await copyLedger(server.redis, desk.prefix);
    // Today that quote is proven dead, and the payout is sent anew and paid: it is all that may be paid today.
    await movePayout(desk.ledger, place, { to: 'ready', dropQuote: 'proven-dead', dueMs: 0 });
    const armed = await arm(runId, 2, limitsOf({ day: 100n }));
    if (!armed.armed) throw new Error('not armed');
    const sent = await readPayout(desk.ledger, place);
    expect(await arm(runId, 3, limitsOf({ day: 100n }))).toMatchObject({ armed: false, refusal: 'limit' });
    await putBack();
    // Its intent line is compared, with what it counted as (src/ledger/season/season.ts, lineArgument).
    const { server: now, dataDirIds } = await state.season();
    const line = {
      r: runId,
      l: 2,
      s: runId,
      n: '',
      h: 'h',
      q: sent.quoteId,
      x: String(sent.quoteExpiresAt),
      k: 2,
      c: armed.counter,
      o: 'w',
      t: String(armed.armedAt),
      f: 'fingerprint',
      m: { d: String(Math.floor(armed.armedAt / DAY_MS)), b: 'b1', s: 'USD 100' },
    };
    const [dataDirId = ''] = dataDirIds;
    await state.compare({ dataDirId, server: now, last: true, json: JSON.stringify([line]), peers: dataDirIds });
    expect(await readPayout(desk.ledger, place)).toMatchObject({ state: 'unknown', quoteId: sent.quoteId });
    await server.redis.hdel(`${desk.prefix}:head`, 'halt');
    await desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
    expect(await arm(runId, 3, limitsOf({ day: 100n }))).toMatchObject({ armed: false, refusal: 'limit' });
  });
});

/** Rows of USD 1.00 that arrive, for which EUR leaves. */
function leaving(minor: bigint | null, most: Partial<Record<Limit, bigint>>, own = {}): ArmingLimits {
  const sums = [
    { currency: 'USD', minor: 100n, most: own },
    { currency: 'EUR', minor, most },
  ];
  return { sums, beneficiaryHash: 'b1', dayOffsetMs: 0 };
}

describe('a payout whose row names what arrives', () => {
  test.each<Limit>(['payout', 'run', 'day', 'beneficiary'])(
    'counts as what leaves too, and passes no limit for a %s in that currency',
    async (limit) => {
      const runId = await payingRun(desk.ledger, rowsOf(3));
      expect(await arm(runId, 2, leaving(93n, { [limit]: 92n }))).toMatchObject({
        refusal: 'limit',
        limit: { which: limit, currency: 'EUR' },
      });
      expect(await armedOf(runId, [2], leaving(93n, { [limit]: 93n }))).toEqual(['armed']);
    },
  );

  test.each<Limit>(['run', 'day', 'beneficiary'])('adds to what left before, for a %s', async (limit) => {
    const runId = await payingRun(desk.ledger, rowsOf(2));
    expect(await armedOf(runId, [2], leaving(93n, { [limit]: 93n }))).toEqual(['armed']);
    expect(await armedOf(runId, [3], leaving(1n, { [limit]: 93n }))).toEqual([limit]);
  });

  test('is not armed when the quote does not say what leaves, unless two people allowed it', async () => {
    const runId = await payingRun(desk.ledger, rowsOf(2));
    expect(await armedOf(runId, [2], leaving(null, { day: 500n }))).toEqual(['amount']);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'held' });
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'ready', values: { beyondLimits: '1' } });
    expect(await armedOf(runId, [2], leaving(null, { day: 500n }))).toEqual(['armed']);
  });

  test('counts by its last quote, once', async () => {
    const runId = await payingRun(desk.ledger, rowsOf(2));
    expect(await armedOf(runId, [2], leaving(90n, { day: 100n }, { day: 200n }))).toEqual(['armed']);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'ready', dropQuote: 'not-sent' });
    expect(await armedOf(runId, [2], leaving(60n, { day: 100n }, { day: 200n }))).toEqual(['armed']);
    expect(await armedOf(runId, [3], leaving(41n, { day: 100n }, { day: 200n }))).toEqual(['day']);
    expect(await armedOf(runId, [3], leaving(40n, { day: 100n }, { day: 200n }))).toEqual(['armed']);
  });
});

test('a payout that two people allowed is armed beyond its limits, and counts', async () => {
  const runId = await payingRun(desk.ledger, rowsOf(2));
  await movePayout(desk.ledger, { runId, line: 2 }, { to: 'held' });
  await movePayout(desk.ledger, { runId, line: 2 }, { to: 'ready', values: { beyondLimits: '1' } });
  expect(wordOf(await arm(runId, 2, limitsOf({ payout: 1n, day: 100n })))).toBe('armed');
  expect(wordOf(await arm(runId, 3, limitsOf({ day: 100n })))).toBe('day');
});
