import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ArmingLimits } from '../../src/ledger/payouts/acts.ts';
import type { PayoutRow } from '../../src/payout.ts';
import { findKnownPayments } from '../../src/runs/known-payment.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import {
  armingOf,
  armPayout,
  claimRun,
  connectArming,
  copyLedger,
  freshRows,
  movePayout,
  newLedger,
  payingRun,
  readPayout,
  sendTo,
  type TestLedger,
} from './test-ledger.ts';

/* The eighth attack: the ledger alone. */

const DAY_MS = 86_400_000;

let server: TestRedis;
let arming: Redis;
let desk: TestLedger;

beforeAll(async () => {
  server = await startTestRedis();
  arming = await connectArming(server);
});
afterAll(async () => {
  arming.disconnect();
  await server.stop();
});
beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
});

describe('a payment that is known to exist', () => {
  test('is found among 200 later runs of which nothing was paid yet, as those that are handed in ahead with a time', async () => {
    const first = await payingRun(desk.ledger, freshRows(1));
    const { paymentId, credentials } = await sendTo(desk.ledger, { runId: first, line: 2 }, 'completed');
    expect(await findKnownPayments(desk.ledger, credentials ?? '')).toEqual([paymentId]);
    for (let runs = 0; runs < 200; runs++) await claimRun(desk.ledger, freshRows(1));
    // With none, a gateway that answers the token test and the list of identities proves quotes dead.
    expect(await findKnownPayments(desk.ledger, credentials ?? '')).toEqual([paymentId]);
  });

  test('is found behind 20 others of its run that were made under former credentials', async () => {
    const runId = await payingRun(desk.ledger, freshRows(25));
    for (let line = 2; line <= 26; line++) {
      await armPayout(desk.ledger, { runId, line }, { credentials: line <= 21 ? 'former' : 'present' });
      await movePayout(desk.ledger, { runId, line }, { to: 'accepted', dueMs: 1000 });
    }
    expect((await findKnownPayments(desk.ledger, 'present')).length).toBeGreaterThan(0);
  });
});

describe('a halt whose text is full', () => {
  test('says what came last, or ends the proposal to release it', async () => {
    for (let breach = 0; breach < 60; breach++)
      await desk.ledger.state.halt(
        'process p1',
        `payout 20260131-abcdef-${breach}: the payment shows another beneficiary, evidence ${breach}`,
      );
    expect((await desk.ledger.state.read()).halt?.length).toBeGreaterThan(4000);
    // Anna has read all that, and proposes to release it.
    expect(await desk.ledger.state.release('anna', { own: 'seal', seen: '-' })).toBe('proposed');
    await desk.ledger.state.halt(
      'payrun',
      'Redis went back in time; 3 decisions are missing in Redis: 7 run.cancelled 20260131-xyzabc',
    );
    const { halt, releaseBy } = await desk.ledger.state.read();
    expect([halt?.includes('Redis went back in time'), releaseBy]).not.toEqual([false, 'anna']);
  });
});

describe('a limit of a day', () => {
  function rowsOf(count: number): PayoutRow[] {
    return freshRows(count).map((row) => ({ ...row, amount: { minor: 100n, currency: 'USD' } }));
  }
  const limitsOf = (dayOffsetMs: number): ArmingLimits => ({
    sums: [{ currency: 'USD', minor: 100n, most: { day: 100n } }],
    beneficiaryHash: 'b1',
    dayOffsetMs,
  });

  test('counts a payout that Redis forgot on the day of its last arming, although the copy has it on an earlier one', async () => {
    const runId = await payingRun(desk.ledger, rowsOf(2));
    const place = { runId, line: 2 };
    // Yesterday it was sent; the quote is unknown. Redis is copied.
    await desk.ledger.payouts.arm(armingOf(await readPayout(desk.ledger, place), { limits: limitsOf(-DAY_MS) }));
    await movePayout(desk.ledger, place, { to: 'unknown', dueMs: 0 });
    const putBack = await copyLedger(server.redis, desk.prefix);
    // Today that quote is proven dead, and the payout is sent anew and paid: it is all that may be paid today.
    await movePayout(desk.ledger, place, { to: 'ready', dropQuote: 'proven-dead', dueMs: 0 });
    const armed = await desk.ledger.payouts.arm(
      armingOf(await readPayout(desk.ledger, place), { limits: limitsOf(0) }),
    );
    if (!armed.armed) throw new Error('not armed');
    const sent = await readPayout(desk.ledger, place);
    const other = await desk.ledger.payouts.arm(
      armingOf(await readPayout(desk.ledger, { runId, line: 3 }), { limits: limitsOf(0) }),
    );
    expect(other).toMatchObject({ armed: false, refusal: 'limit' });
    await putBack();
    // Its intent line is compared, with what it counted as (src/ledger/season/season.ts, lineArgument).
    const { server: now } = await desk.ledger.state.season();
    const day = String(Math.floor(armed.armedAt / DAY_MS));
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
      m: { d: day, b: 'b1', s: 'USD 100' },
    };
    const ids = (await desk.ledger.state.season()).dataDirIds;
    const [dataDirId = ''] = ids;
    await desk.ledger.state.compare({ dataDirId, server: now, last: true, json: JSON.stringify([line]), peers: ids });
    expect(await readPayout(desk.ledger, place)).toMatchObject({ state: 'unknown', quoteId: sent.quoteId });
    await server.redis.hdel(`${desk.prefix}:head`, 'halt');
    await desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
    const again = await desk.ledger.payouts.arm(
      armingOf(await readPayout(desk.ledger, { runId, line: 3 }), { limits: limitsOf(0) }),
    );
    expect(again).toMatchObject({ armed: false, refusal: 'limit' });
  });
});
