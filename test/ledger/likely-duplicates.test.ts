import { beforeEach, describe, expect, test } from 'vitest';
import { duplicateKey } from '../../src/intake/row/duplicate-key.ts';
import { LIKELY_PERIOD_MS, likelyPeriodsBack } from '../../src/ledger/keys.ts';
import type { PayoutRow } from '../../src/payout.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  claimRun,
  freshRows,
  movePayout,
  newLedger,
  REMEMBER_MS,
  readPayout,
  recordOf,
  sendTo,
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

/** A run whose rows have references of their own, and are the same in everything else but the changes. */
async function runOf(changes: readonly Partial<PayoutRow>[], withinMs = 7 * DAY_MS): Promise<string> {
  const rows = freshRows(changes.length).map((row, index) => ({
    ...row,
    amount: { minor: 10_050n, currency: 'USD' },
    ...changes[index],
  }));
  const id = await claimRun(desk.ledger, rows);
  const records = rows.map((row) => ({ ...recordOf(row), duplicateKey: { hash: duplicateKey(row), withinMs } }));
  await desk.ledger.runs.record(id, records, REMEMBER_MS);
  await desk.ledger.runs.note(id, { lastLine: String(rows.length + 1) });
  await desk.ledger.runs.move(id, { to: 'paying', actor: 'anna', reason: 'submitted' });
  return id;
}

async function stateOf(runId: string, line = 2): Promise<[string, string | null]> {
  const { state, reasonCode } = await readPayout(desk.ledger, { runId, line });
  return [state, reasonCode];
}

const HELD = ['held', 'E_DUP_LIKELY'];
const READY = ['ready', null];

describe('a payout with the beneficiary, amount and currency of an earlier one, under another reference', () => {
  test('is held with a link to it, in the same file and in a later one', async () => {
    const first = await runOf([{}, {}]);
    expect([await stateOf(first, 2), await stateOf(first, 3)]).toEqual([READY, HELD]);
    expect((await readPayout(desk.ledger, { runId: first, line: 3 })).reason).toContain(`${first}-2`);
    const second = await runOf([{}]);
    expect(await stateOf(second)).toEqual(HELD);
  });

  test.each<[string, Partial<PayoutRow>]>([
    ['beneficiary', { beneficiaryIdentityId: 'aaaaaaaa-0b6c-4f18-a52d-9c4be8f1d073' }],
    ['amount', { amount: { minor: 10_051n, currency: 'USD' } }],
    ['currency', { amount: { minor: 10_050n, currency: 'EUR' }, sourceCurrency: 'EUR' }],
  ])('is paid when the %s is another one', async (_what, change) => {
    const runId = await runOf([{}, change]);
    expect(await stateOf(runId, 3)).toEqual(READY);
  });

  test.each(['failed', 'returned'] as const)('is paid when the earlier one ended %s', async (state) => {
    const first = await runOf([{}]);
    await sendTo(desk.ledger, { runId: first, line: 2 }, state);
    expect(await stateOf(await runOf([{}]))).toEqual(READY);
  });

  test('is held wherever it is paid from and into', async () => {
    const other = { sourceCurrency: 'EUR', destinationCurrency: 'USD', amountType: 'DESTINATION_AMOUNT' } as const;
    expect(await stateOf(await runOf([{}, other]), 3)).toEqual(HELD);
  });

  test('is held as long as the first one stands, whatever becomes of copies that were held', async () => {
    const first = await runOf([{}]);
    const second = await runOf([{}]);
    expect((await movePayout(desk.ledger, { runId: second, line: 2 }, { to: 'cancelled' })).result).toBe('moved');
    const third = await runOf([{}]);
    expect(await stateOf(third)).toEqual(HELD);
    expect((await readPayout(desk.ledger, { runId: third, line: 2 })).reason).toContain(`${first}-2`);
  });

  test('is held when the earlier one was refused and that is not confirmed', async () => {
    const first = await runOf([{}]);
    await sendTo(desk.ledger, { runId: first, line: 2 }, 'rejected');
    expect(await stateOf(await runOf([{}]))).toEqual(HELD);
  });

  test('is paid when the time since it was handed in is over, however late it was settled', async () => {
    const first = await runOf([{}]);
    await sendTo(desk.ledger, { runId: first, line: 2 }, 'completed');
    expect(await stateOf(await runOf([{}]))).toEqual(HELD);
    await expect.poll(async () => await stateOf(await runOf([{}], 1))).toEqual(READY);
  });

  test('is paid when that time is over, also while the payment of the earlier one is under way', async () => {
    const first = await runOf([{}]);
    await sendTo(desk.ledger, { runId: first, line: 2 }, 'accepted');
    expect(await stateOf(await runOf([{}]))).toEqual(HELD);
    await expect.poll(async () => await stateOf(await runOf([{}], 1))).toEqual(READY);
  });

  test('is held for as long after a payment that had waited for longer than a day, from the day before it was sent', async () => {
    const first = await runOf([{}]);
    await server.redis.hset(desk.keys.run(first), 'createdAt', String(Date.now() - 8 * DAY_MS));
    await sendTo(desk.ledger, { runId: first, line: 2 }, 'completed');
    expect(await stateOf(await runOf([{}], 2 * DAY_MS))).toEqual(HELD);
    expect(await stateOf(await runOf([{}], DAY_MS / 2))).toEqual(READY);
  });

  test.each(['ready', 'held', 'unknown'] as const)(
    'is held however long ago the earlier one was handed in, while that is %s',
    async (state) => {
      const first = await runOf([{}]);
      const place = { runId: first, line: 2 };
      if (state === 'unknown') await sendTo(desk.ledger, place, state);
      if (state === 'held') await movePayout(desk.ledger, place, { to: state });
      await server.redis.hset(desk.keys.run(first), 'createdAt', String(Date.now() - 30 * DAY_MS));
      // As if it had been recorded four periods ago.
      const [key = ''] = await server.redis.keys(`${desk.prefix}:likely:*`);
      const period = String(Math.floor(Date.now() / LIKELY_PERIOD_MS));
      expect(key).toContain(`:${period}:`);
      await server.redis.rename(key, key.replace(`:${period}:`, `:${Number(period) - 4}:`));
      const later = await runOf([{}]);
      expect(await stateOf(later)).toEqual(HELD);
      expect((await readPayout(desk.ledger, { runId: later, line: 2 })).reason).toContain(`${first}-2`);
    },
  );

  test('can be let go, and holds the next one again', async () => {
    const first = await runOf([{}, {}]);
    expect((await movePayout(desk.ledger, { runId: first, line: 3 }, { to: 'ready' })).result).toBe('moved');
    expect(await stateOf(await runOf([{}]))).toEqual(HELD);
  });
});

test('recording the same rows again holds none of them', async () => {
  const rows = freshRows(3);
  const id = await claimRun(desk.ledger, rows);
  const records = rows.map((row) => ({
    ...recordOf(row),
    duplicateKey: { hash: duplicateKey(row), withinMs: DAY_MS },
  }));
  for (let times = 0; times < 2; times++) await desk.ledger.runs.record(id, records, REMEMBER_MS);
  for (const { line } of rows) expect(await stateOf(id, line)).toEqual(READY);
});

test('what is remembered goes by itself a week after it is looked for no more', async () => {
  await runOf([{}], DAY_MS);
  const [key = ''] = await server.redis.keys(`${desk.prefix}:likely:*`);
  const ms = await server.redis.pttl(key);
  const longMs = (likelyPeriodsBack(DAY_MS) + 1) * LIKELY_PERIOD_MS;
  expect(ms).toBeGreaterThan(longMs - DAY_MS);
  expect(ms).toBeLessThanOrEqual(longMs);
});
