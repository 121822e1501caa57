import { beforeEach, describe, expect, test } from 'vitest';
import { MOVES, mayMove } from '../../src/moves.ts';
import { type DropReason, PAYOUT_STATES, type PayoutState } from '../../src/payout.ts';
import { forceState } from '../support/records.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  armPayout,
  claimRun,
  countersOf,
  dumpOf,
  freshRows,
  movePayout,
  newLedger,
  payingRun,
  readPayout,
  recordRows,
  recount,
  sendTo,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
});

const DROPS: readonly (DropReason | undefined)[] = [undefined, 'not-sent', 'proven-dead'];
const PAIRS = PAYOUT_STATES.flatMap((from) => PAYOUT_STATES.map((to) => ({ from, to })));

/** Puts a fresh payout into a state by hand, also one that no way leads to, with its index and counters. */
async function plant(runId: string, { line, state, sent }: { line: number; state: PayoutState; sent: boolean }) {
  const { keys, prefix, redis } = desk;
  const values = sent ? { q: `quote-${line}`, qn: '1' } : {};
  await forceState({ redis, prefix, runId, line }, { state, values });
  await redis.multi().hincrby(keys.run(runId), 'n:ready', -1).hincrby(keys.run(runId), `n:${state}`, 1).exec();
}

const ASKED = [false, true].flatMap((sent) =>
  [false, true].flatMap((breach) => DROPS.map((dropQuote) => ({ sent, breach, dropQuote }))),
);

test.each(ASKED)(
  'the ledger makes exactly the moves of the table, for every pair of states: sent $sent, breach $breach, drop $dropQuote',
  async ({ sent, breach, dropQuote }) => {
    const how = { ...(breach ? { breach } : {}), ...(dropQuote === undefined ? {} : { dropQuote }) };
    const runId = await payingRun(desk.ledger, freshRows(PAIRS.length));
    await Promise.all(PAIRS.map(({ from }, index) => plant(runId, { line: index + 2, state: from, sent })));
    const answers = await Promise.all(
      PAIRS.map(({ to }, index) => movePayout(desk.ledger, { runId, line: index + 2 }, { to, ...how })),
    );
    for (const [index, { from, to }] of PAIRS.entries()) {
      const allowed = mayMove({ from, to, sent, ...how });
      const refused = from === to ? 'there' : 'forbidden';
      expect([from, to, answers[index]?.result]).toEqual([from, to, allowed ? 'moved' : refused]);
      expect((await readPayout(desk.ledger, { runId, line: index + 2 })).state).toBe(allowed ? to : from);
    }
    const forbidden = answers.filter(({ result }) => result === 'forbidden').length;
    expect((await desk.ledger.state.read()).refusedMoves).toBe(forbidden);
  },
);

describe('a refused move', () => {
  const refusals = PAIRS.filter(
    ({ from, to }) => from !== to && !mayMove({ from, to, sent: true, dropQuote: 'proven-dead' }),
  );

  test('is counted and changes nothing', async () => {
    const runId = await payingRun(desk.ledger, freshRows(refusals.length));
    await Promise.all(refusals.map(({ from }, index) => plant(runId, { line: index + 2, state: from, sent: true })));
    const before = await dumpOf(desk);
    await Promise.all(
      refusals.map(({ to }, index) =>
        movePayout(
          desk.ledger,
          { runId, line: index + 2 },
          { to, dueMs: 5, dropQuote: 'proven-dead', values: { reasonCode: 'X', quoteFailures: null } },
        ),
      ),
    );
    const after = await dumpOf(desk);
    expect(after.get(desk.keys.head)).not.toBe(before.get(desk.keys.head));
    before.delete(desk.keys.head);
    after.delete(desk.keys.head);
    expect(after).toEqual(before);
    expect((await desk.ledger.state.read()).refusedMoves).toBe(refusals.length);
  });

  test('for another version, another quote or a payout that is not there changes nothing, not even the count', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    const armed = await armPayout(desk.ledger, place);
    const before = await dumpOf(desk);
    const stale = await movePayout(desk.ledger, place, { to: 'accepted', version: armed.version - 1 });
    const other = await movePayout(desk.ledger, place, { to: 'accepted', quoteId: 'another' });
    const missing = await movePayout(desk.ledger, { runId, line: 3 }, { to: 'accepted' });
    expect([stale.result, other.result, missing.result]).toEqual(['changed', 'other-quote', 'missing']);
    expect([stale.version, stale.state]).toEqual([armed.version, 'armed']);
    expect(await dumpOf(desk)).toEqual(before);
  });
});

test('a refused move claims no payment, so that the payout it belongs to can have it', async () => {
  const runId = await payingRun(desk.ledger, freshRows(2));
  await sendTo(desk.ledger, { runId, line: 2 }, 'unknown');
  const values = { paymentId: '11111111-2222-4333-8444-555555555555' };
  expect((await movePayout(desk.ledger, { runId, line: 3 }, { to: 'accepted', values })).result).toBe('forbidden');
  expect((await movePayout(desk.ledger, { runId, line: 2 }, { to: 'accepted', values })).result).toBe('moved');
});

test('a payment belongs to one payout: another one cannot be accepted with it, whether it is its quote or not', async () => {
  const runId = await payingRun(desk.ledger, freshRows(3));
  const first = await sendTo(desk.ledger, { runId, line: 2 }, 'unknown');
  for (const line of [3, 4]) await sendTo(desk.ledger, { runId, line }, 'unknown');
  const taken = { paymentId: first.quoteId ?? '' };
  expect((await movePayout(desk.ledger, { runId, line: 3 }, { to: 'accepted', values: taken })).result).toBe(
    'payment-taken',
  );
  const values = { paymentId: '11111111-2222-4333-8444-555555555555' };
  expect((await movePayout(desk.ledger, { runId, line: 3 }, { to: 'accepted', values })).result).toBe('moved');
  expect((await movePayout(desk.ledger, { runId, line: 4 }, { to: 'accepted', values })).result).toBe('payment-taken');
  expect((await readPayout(desk.ledger, { runId, line: 4 })).state).toBe('unknown');
});

describe('a breach', () => {
  test.each(['quoted', 'unknown', 'accepted', 'rejected', 'completed', 'failed', 'returned'] as const)(
    'holds a payout that is %s, with its evidence and its quote',
    async (state) => {
      const runId = await payingRun(desk.ledger, freshRows(1));
      const place = { runId, line: 2 };
      const { quoteId } = await sendTo(desk.ledger, place, state);
      await movePayout(desk.ledger, place, {
        to: 'held',
        breach: true,
        values: { reasonCode: 'E_BREACH', reason: 'evidence' },
      });
      const held = await readPayout(desk.ledger, place);
      expect(held).toMatchObject({ state: 'held', quoteId, reasonCode: 'E_BREACH', reason: 'evidence' });
      expect(await countersOf(desk.ledger, runId)).toEqual(await recount(desk.ledger, runId));
    },
  );

  test.each(PAYOUT_STATES.filter((to) => to !== 'held'))('never brings a payout to %s', async (to) => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    await movePayout(desk.ledger, place, { to: 'held' });
    expect((await movePayout(desk.ledger, place, { to, breach: true })).result).toBe('forbidden');
  });
});

describe('a fact', () => {
  test.each(['quoted', 'unknown', 'held', 'rejected'] as const)(
    'beats the doubt of a payout that is %s, whatever its version',
    async (state) => {
      const runId = await payingRun(desk.ledger, freshRows(1));
      const place = { runId, line: 2 };
      const { quoteId } = await sendTo(desk.ledger, place, state);
      const quote = quoteId === null ? {} : { quoteId };
      expect((await movePayout(desk.ledger, place, { to: 'accepted', ...quote })).result).toBe('moved');
      expect((await readPayout(desk.ledger, place)).paymentId).toBe(quoteId);
    },
  );
});

describe('a note', () => {
  test('writes and deletes fields, grows the version and leaves the state and the history', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    const before = await sendTo(desk.ledger, place, 'unknown');
    await movePayout(desk.ledger, place, { version: before.version, values: { notFoundAt: 17, lookUps: 1 }, dueMs: 5 });
    const noted = await readPayout(desk.ledger, place);
    expect(noted).toEqual({ ...before, version: before.version + 1, notFoundAt: 17, lookUps: 1 });
    await movePayout(desk.ledger, place, { values: { notFoundAt: null }, dueMs: 5 });
    expect(await readPayout(desk.ledger, place)).toEqual({ ...noted, version: noted.version + 1, notFoundAt: null });
  });

  test('on an older version is refused', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    const { version } = await sendTo(desk.ledger, place, 'unknown');
    const results = await Promise.all(
      [1, 2].map((lookUps) => movePayout(desk.ledger, place, { version, values: { lookUps }, dueMs: 5 })),
    );
    expect(results.map(({ result }) => result)).toEqual(['moved', 'changed']);
    expect((await readPayout(desk.ledger, place)).lookUps).toBe(1);
  });
});

describe('a dropped quote', () => {
  test('of which no byte left is free for any payout and counts as no attempt', async () => {
    const runId = await payingRun(desk.ledger, freshRows(2));
    const armed = await armPayout(desk.ledger, { runId, line: 2 }, { quoteId: 'quote-1' });
    await movePayout(desk.ledger, armed, { to: 'ready', version: armed.version, dropQuote: 'not-sent' });
    const ready = await readPayout(desk.ledger, armed);
    expect(ready).toMatchObject({ state: 'ready', quoteId: null, attempts: 0, quotes: 0, armings: 0, sentAt: null });
    expect((await armPayout(desk.ledger, { runId, line: 3 }, { quoteId: 'quote-1' })).quoteId).toBe('quote-1');
    expect(await desk.ledger.runs.formerQuotes(runId)).toEqual([]);
  });

  test('is never one of which an earlier request may have left', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    const { quoteId } = await sendTo(desk.ledger, place, 'quoted');
    const again = await armPayout(desk.ledger, place);
    await movePayout(desk.ledger, place, { to: 'ready', version: again.version, dropQuote: 'not-sent' });
    expect((await readPayout(desk.ledger, place)).quoteId).toBe(quoteId);
  });

  test('that is proven dead is remembered, and free for nobody', async () => {
    const runId = await payingRun(desk.ledger, freshRows(2));
    const place = { runId, line: 2 };
    await armPayout(desk.ledger, place, { quoteId: 'quote-1' });
    await movePayout(desk.ledger, place, { to: 'unknown' });
    await movePayout(desk.ledger, place, { to: 'ready', quoteId: 'quote-1', dropQuote: 'proven-dead', dueMs: 0 });
    expect(await readPayout(desk.ledger, place)).toMatchObject({ quoteId: null, attempts: 1, quotes: 1, armings: 0 });
    expect(await desk.ledger.runs.formerQuotes(runId)).toEqual([{ line: 2, quoteId: 'quote-1', isProvenDead: true }]);
    expect((await desk.ledger.runs.read(runId))?.deadQuotes).toBe(1);
    for (const line of [2, 3]) {
      await expect(armPayout(desk.ledger, { runId, line }, { quoteId: 'quote-1' })).rejects.toThrow('quote-taken');
    }
  });

  test('takes with it what belonged to it', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    const values = {
      sourceAmount: { minor: 100n, currency: 'USD' },
      destinationAmount: { minor: 1800n, currency: 'MXN' },
      rate: '18',
      fees: [{ minor: 5n, currency: 'USD' }],
      quotedAt: 17,
    };
    await armPayout(desk.ledger, place, { values });
    await movePayout(desk.ledger, place, { to: 'unknown', values: { notFoundAt: 1, seen2xx: true, lookUps: 3 } });
    await movePayout(desk.ledger, place, { to: 'ready', dropQuote: 'proven-dead' });
    expect(await readPayout(desk.ledger, place)).toMatchObject({
      quoteExpiresAt: null,
      sourceAmount: null,
      destinationAmount: null,
      rate: null,
      fees: [],
      quotedAt: null,
      notFoundAt: null,
      seen2xx: false,
      lookUps: 0,
    });
  });
});

describe('in a cancelled run', () => {
  test('a payout whose quote is proven dead is cancelled', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    await sendTo(desk.ledger, place, 'unknown');
    await desk.ledger.runs.move(runId, { to: 'cancelled', actor: 'anna', reason: '' });
    await movePayout(desk.ledger, place, { to: 'ready', cancelledIfRunIs: true, dropQuote: 'proven-dead' });
    expect(await readPayout(desk.ledger, place)).toMatchObject({ state: 'cancelled', quoteId: null });
  });

  test('a payout of whose request no byte left does not stay armed', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const armed = await armPayout(desk.ledger, { runId, line: 2 });
    await desk.ledger.runs.move(runId, { to: 'cancelled', actor: 'anna', reason: '' });
    const answer = await movePayout(desk.ledger, armed, {
      to: 'ready',
      cancelledIfRunIs: true,
      version: armed.version,
      dropQuote: 'not-sent',
    });
    expect(answer.result).toBe('moved');
    expect(await readPayout(desk.ledger, armed)).toMatchObject({ quoteId: null, attempts: 0 });
    expect((await desk.ledger.state.read()).refusedMoves).toBe(0);
  });
});

describe('the history', () => {
  test('has each move with time, actor and reason, in the order in which they were made', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    await armPayout(desk.ledger, place);
    await desk.ledger.payouts.move({ ...place, to: 'unknown', actor: 'worker-1', reason: 'reset | by peer' });
    const { history, armedAt } = await readPayout(desk.ledger, place);
    expect(history.map(({ to, actor, reason }) => [to, actor, reason])).toEqual([
      ['ready', 'intake', ''],
      ['armed', 'worker-1', ''],
      ['unknown', 'worker-1', 'reset | by peer'],
    ]);
    expect(history[1]?.at).toBe(armedAt);
    expect(history.map(({ at }) => at)).toEqual(history.map(({ at }) => at).toSorted((a, b) => a - b));
  });

  test('comes back whatever a person is called', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    await desk.ledger.payouts.move({ ...place, to: 'held', actor: 'Anna | Treasury', reason: 'too much' });
    const { history } = await readPayout(desk.ledger, place);
    expect(history.at(-1)).toMatchObject({ actor: 'Anna | Treasury', reason: 'too much' });
  });

  test('shows when a payout was settled', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    expect((await readPayout(desk.ledger, { runId, line: 2 })).settledAt).toBeNull();
    const { settledAt, history } = await sendTo(desk.ledger, { runId, line: 2 }, 'completed');
    expect(settledAt).toBe(history.at(-1)?.at);
  });
});

test('the table that the tests compare with is not empty, and arming is in it', () => {
  expect(MOVES.filter(({ to }) => to === 'armed').map(({ from }) => from)).toEqual(['ready', 'quoted']);
});

test('a payout of a run that is being recorded can be read and held, and is counted', async () => {
  const rows = freshRows(3);
  const runId = await claimRun(desk.ledger, rows);
  await recordRows(desk.ledger, runId, rows);
  await movePayout(desk.ledger, { runId, line: 3 }, { to: 'held' });
  expect(await countersOf(desk.ledger, runId)).toEqual(await recount(desk.ledger, runId));
});

test('a payout that Redis went back with is moved as it stands, not as this process remembers it, though its version is the same', async () => {
  const runId = await payingRun(desk.ledger, freshRows(1));
  const place = { runId, line: 2 };
  await desk.ledger.payouts.defer(place, { ms: 0, quoteFailed: true });
  // Remembered as ready, without a quote, and of this version.
  await forceState(
    { ...place, redis: desk.redis, prefix: desk.prefix },
    { state: 'unknown', values: { q: 'quote-lost' } },
  );
  const answer = await movePayout(desk.ledger, place, { to: 'cancelled' });
  expect(answer).toMatchObject({ result: 'forbidden', state: 'unknown' });
  expect(await readPayout(desk.ledger, place)).toMatchObject({ state: 'unknown', quoteId: 'quote-lost' });
});
