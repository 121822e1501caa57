import { beforeEach, describe, expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { referencesKey } from '../../src/ledger/keys.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import type { ArmAnswer, Arming } from '../../src/ledger/payouts/acts.ts';
import { ARMINGS_PER_QUOTE_MAX, type Payout, QUOTES_PER_PAYOUT_MAX } from '../../src/payout.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  armingOf,
  armPayout,
  claimRun,
  connectArming,
  DATA_DIR,
  dumpOf,
  freshRows,
  movePayout,
  newLedger,
  PATIENCE,
  payingRun,
  readPayout,
  recordRows,
  sendTo,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;
let runId: string;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
  runId = await payingRun(desk.ledger, freshRows(3));
});

const payout = (line = 2): Promise<Payout> => readPayout(desk.ledger, { runId, line });

async function refusalOf(other: Partial<Arming> = {}, line = 2): Promise<string> {
  return refusal(await desk.ledger.payouts.arm(armingOf(await payout(line), other)));
}

function refusal(answer: ArmAnswer): string {
  return answer.armed ? 'armed' : answer.refusal;
}

async function quotedAgain(times: number): Promise<void> {
  for (let done = 0; done < times; done++) {
    await armPayout(desk.ledger, { runId, line: 2 });
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'quoted', dueMs: 0 });
  }
}

async function bury(times: number): Promise<void> {
  for (let done = 0; done < times; done++) {
    await sendTo(desk.ledger, { runId, line: 2 }, 'unknown');
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'ready', dropQuote: 'proven-dead' });
  }
}

const move = (to: 'paused' | 'cancelled') => desk.ledger.runs.move(runId, { to, actor: 'anna', reason: '' });

const REFUSALS: readonly {
  readonly why: string;
  readonly refusal: string;
  readonly given: () => Promise<unknown>;
  readonly with?: Partial<Arming>;
}[] = [
  {
    why: 'the season is another server run',
    refusal: 'season',
    given: () => desk.redis.hset(desk.keys.head, 'season', 'another server'),
  },
  { why: 'no season was opened', refusal: 'season', given: () => desk.redis.hdel(desk.keys.head, 'season') },
  { why: 'the ledger has no head', refusal: 'season', given: () => desk.redis.del(desk.keys.head) },
  {
    why: 'its data directory has not compared its logs',
    refusal: 'season',
    given: async () => {
      await desk.redis.del(desk.keys.dirs);
      await desk.ledger.state.enterDir(DATA_DIR);
    },
  },
  { why: 'nobody entered its data directory', refusal: 'season', given: () => desk.redis.del(desk.keys.dirs) },
  {
    why: 'other safety settings were adopted',
    refusal: 'settings',
    given: () => desk.redis.hset(desk.keys.head, 'safety', 'arm deadline 9000 ms'),
  },
  { why: 'everything is halted', refusal: 'halted', given: () => desk.ledger.state.halt('anna', 'look') },
  {
    why: 'only one person released the halt',
    refusal: 'halted',
    given: async () => {
      await desk.ledger.state.halt('anna', 'look');
      await releaseHalt({ ledger: desk.ledger }, 'anna');
    },
  },
  { why: 'the service asked to wait', refusal: 'wait', given: () => desk.ledger.state.hold(60_000) },
  { why: 'the run is paused', refusal: 'run', given: () => move('paused') },
  { why: 'the run is cancelled', refusal: 'run', given: () => move('cancelled') },
  { why: 'the run is not there', refusal: 'run', given: () => desk.redis.del(desk.keys.run(runId)) },
  {
    why: 'the payout has another version',
    refusal: 'changed',
    given: () => movePayout(desk.ledger, { runId, line: 2 }, { values: { lookUps: 1 } }),
    with: { version: 1 },
  },
  { why: 'a later version is named', refusal: 'changed', given: async () => {}, with: { version: 2 } },
  { why: 'the payout is not there', refusal: 'changed', given: async () => {}, with: { line: 99 } },
  {
    why: 'the row is not the one that was seen',
    refusal: 'row',
    given: async () => {},
    with: { rowSeal: 'f'.repeat(32) },
  },
  {
    why: 'its reference belongs to another payout',
    refusal: 'reference',
    given: async () => {
      const hash = hashReference('another payout has it');
      await desk.redis.hset(referencesKey(desk.prefix, hash), hash, 'run-2');
    },
    with: { referenceHash: hashReference('another payout has it') },
  },
  {
    why: 'the quoted payout has another quote',
    refusal: 'changed',
    given: () => quotedAgain(1),
    with: { quoteId: 'another' },
  },
  {
    why: 'its quote was armed as often as is allowed',
    refusal: 'armings',
    given: () => quotedAgain(ARMINGS_PER_QUOTE_MAX),
  },
  { why: 'it had as many quotes as are allowed', refusal: 'quotes', given: () => bury(QUOTES_PER_PAYOUT_MAX) },
  {
    why: 'another payout holds the quote',
    refusal: 'quote-taken',
    given: () => armPayout(desk.ledger, { runId, line: 3 }, { quoteId: 'theirs' }),
    with: { quoteId: 'theirs' },
  },
];

describe('a payout is not armed, and nothing changes, when', () => {
  test.each(REFUSALS)('$why: $refusal', async ({ refusal: expected, given, with: other }) => {
    await given();
    const found = await payout();
    const before = await dumpOf(desk);
    expect(refusal(await desk.ledger.payouts.arm(armingOf(found, other)))).toBe(expected);
    expect(await dumpOf(desk)).toEqual(before);
  });

  test.each(['unknown', 'held', 'accepted', 'rejected', 'completed', 'failed', 'returned'] as const)(
    'it is %s: changed',
    async (state) => {
      await sendTo(desk.ledger, { runId, line: 2 }, state);
      expect(await refusalOf()).toBe('changed');
      expect(await refusalOf({ quoteId: 'fresh' })).toBe('changed');
    },
  );

  test('its run is still being recorded: run', async () => {
    const rows = freshRows(1);
    const recording = await claimRun(desk.ledger, rows);
    await recordRows(desk.ledger, recording, rows);
    const found = await readPayout(desk.ledger, { runId: recording, line: 2 });
    expect(refusal(await desk.ledger.payouts.arm(armingOf(found)))).toBe('run');
  });

  test('the quote is its own earlier one, which is proven dead: quote-taken', async () => {
    await armPayout(desk.ledger, { runId, line: 2 }, { quoteId: 'first' });
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'unknown' });
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'ready', dropQuote: 'proven-dead' });
    expect(await refusalOf({ quoteId: 'first' })).toBe('quote-taken');
  });

  test.each(['accepted', 'completed', 'failed', 'rejected', 'held'] as const)(
    'the quote belongs to a payout that is %s: quote-taken',
    async (state) => {
      const { quoteId } = await sendTo(desk.ledger, { runId, line: 3 }, state);
      expect(await refusalOf({ quoteId: quoteId ?? '' })).toBe('quote-taken');
    },
  );

  test('the quote belongs to a payout of another run: quote-taken', async () => {
    const other = await payingRun(desk.ledger, freshRows(1));
    const { quoteId } = await sendTo(desk.ledger, { runId: other, line: 2 }, 'unknown');
    expect(await refusalOf({ quoteId: quoteId ?? '' })).toBe('quote-taken');
  });
});

describe('an arming', () => {
  test('writes down all that a look-up and a comparison need', async () => {
    const before = await payout();
    const answer = await desk.ledger.payouts.arm(
      armingOf(before, { quoteId: 'q-1', values: { sourceAmount: { minor: 100n, currency: 'USD' }, rate: '1.5' } }),
    );
    if (!answer.armed) throw new Error(answer.refusal);
    expect(await payout()).toMatchObject({
      state: 'armed',
      version: answer.version,
      armingCounter: answer.counter,
      armedAt: answer.armedAt,
      sentAt: answer.armedAt,
      quoteId: 'q-1',
      quoteExpiresAt: 1_900_000_000_000,
      armedBy: 'worker-1',
      credentials: 'fingerprint',
      attempts: 1,
      armings: 1,
      quotes: 1,
      sourceAmount: { minor: 100n, currency: 'USD' },
      rate: '1.5',
    });
    expect(answer.version).toBe(before.version + 1);
  });

  test('of a quote without an end leaves the end unknown', async () => {
    expect((await armPayout(desk.ledger, { runId, line: 2 }, { quoteExpiresAt: null })).quoteExpiresAt).toBeNull();
  });

  test('of a new quote forgets what was learned about the one before', async () => {
    await sendTo(desk.ledger, { runId, line: 2 }, 'unknown');
    await movePayout(desk.ledger, { runId, line: 2 }, { values: { notFoundAt: 5, seen2xx: true, lookUps: 7 } });
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'ready', dropQuote: 'proven-dead' });
    await desk.ledger.payouts.defer({ runId, line: 2 }, { ms: 0, quoteFailed: true });
    expect(await armPayout(desk.ledger, { runId, line: 2 })).toMatchObject({
      notFoundAt: null,
      seen2xx: false,
      lookUps: 0,
      quoteFailures: 0,
      attempts: 2,
      quotes: 2,
      armings: 1,
    });
  });

  test('again with the same quote counts as an attempt but not as a quote', async () => {
    await quotedAgain(2);
    expect(await armPayout(desk.ledger, { runId, line: 2 })).toMatchObject({ attempts: 3, armings: 3, quotes: 1 });
  });

  test('gets a counter of its own, which only grows', async () => {
    const counters: number[] = [];
    for (const line of [2, 3, 4]) counters.push((await armPayout(desk.ledger, { runId, line })).armingCounter);
    expect(counters).toEqual([1, 2, 3]);
    expect((await desk.ledger.state.read()).armings).toBe(3);
  });

  test('is possible again when the wait is over', async () => {
    await desk.ledger.state.hold(1);
    await expect.poll(() => refusalOf(), PATIENCE).toBe('armed');
  });
});

describe('a payout is armed once', () => {
  test('when the same call runs twice, as after a lost reply', async () => {
    const call = armingOf(await payout(), { quoteId: 'q-1' });
    const first = await desk.ledger.payouts.arm(call);
    const after = await dumpOf(desk);
    const second = await desk.ledger.payouts.arm(call);
    expect([refusal(first), refusal(second)]).toEqual(['armed', 'changed']);
    expect(await dumpOf(desk)).toEqual(after);
  });

  test('when it is twice in one batch', async () => {
    const found = await payout();
    const answers = await Promise.all([1, 2].map(() => desk.ledger.payouts.arm(armingOf(found))));
    expect(answers.map(refusal)).toEqual(['armed', 'changed']);
  });

  test('when one batch has one quote for two payouts', async () => {
    const found = await Promise.all([payout(2), payout(3)]);
    const answers = await Promise.all(found.map((one) => desk.ledger.payouts.arm(armingOf(one, { quoteId: 'same' }))));
    expect(answers.map(refusal)).toEqual(['armed', 'quote-taken']);
  });

  test('in each of 1,000 races of two connections', async () => {
    const rows = freshRows(1000);
    const racing = await payingRun(desk.ledger, rows);
    const otherArming = await connectArming(server);
    const redis = await connectRedis({ socket: server.socket }, { name: 'test', kind: 'commands' });
    const other = openLedger({ redis, arming: otherArming }, { prefix: desk.prefix, dataDirId: DATA_DIR });
    const found = await Promise.all(rows.map(({ line }) => readPayout(desk.ledger, { runId: racing, line })));
    const answers = await Promise.all(
      found.map((one, index) => {
        const racers = [desk.ledger, other].map((ledger, at) =>
          ledger.payouts.arm(armingOf(one, { owner: `worker-${at}`, quoteId: `${index}-${at}` })),
        );
        return Promise.all(racers);
      }),
    );
    const won = answers.map((pair) => pair.filter(({ armed }) => armed));
    expect(won.every((winners) => winners.length === 1)).toBe(true);
    const counters = won.flat().map((answer) => (answer.armed ? answer.counter : 0));
    expect(new Set(counters).size).toBe(1000);
    for (const [index, pair] of answers.entries()) {
      const winner = pair.findIndex(({ armed }) => armed);
      const { quoteId, armedBy } = await readPayout(desk.ledger, { runId: racing, line: rows[index]?.line ?? 0 });
      expect([quoteId, armedBy]).toEqual([`${index}-${winner}`, `worker-${winner}`]);
    }
    expect((await desk.ledger.state.read()).armings).toBe(1000);
    otherArming.disconnect();
    redis.disconnect();
  });
});

describe('nobody knows, and it is not called armed, when', () => {
  test('the command times out; the late arming is found, and found once', async () => {
    const hasty = await connectArming(server, 1000);
    const { payouts } = openLedger({ redis: desk.redis, arming: hasty }, { prefix: desk.prefix, dataDirId: DATA_DIR });
    const call = armingOf(await payout());
    await payouts.read(call);
    await desk.redis.call('CLIENT', 'PAUSE', '10000', 'WRITE');
    await expect(payouts.arm(call)).rejects.toThrow(/timed out/i);
    await desk.redis.call('CLIENT', 'UNPAUSE');
    await expect.poll(async () => (await payout()).state, PATIENCE).toBe('armed');
    expect(refusal(await payouts.arm(call))).toBe('changed');
    expect((await desk.ledger.state.read()).armings).toBe(1);
    hasty.disconnect();
  });

  test('the connection is lost before the reply; the client never sends the arming again', async () => {
    const lost = await connectArming(server);
    const id = await lost.client('ID');
    const { payouts } = openLedger({ redis: desk.redis, arming: lost }, { prefix: desk.prefix, dataDirId: DATA_DIR });
    const call = armingOf(await payout());
    await payouts.read(call);
    await desk.redis.call('CLIENT', 'PAUSE', '5000', 'WRITE');
    const answer = payouts.arm(call);
    answer.catch(() => {});
    await expect
      .poll(async () => String(await desk.redis.call('CLIENT', 'LIST', 'ID', String(id))), PATIENCE)
      .toMatch(/flags=b/);
    await desk.redis.call('CLIENT', 'KILL', 'ID', String(id));
    await expect(answer).rejects.toThrow(/clos|lost|retries/i);
    await desk.redis.call('CLIENT', 'UNPAUSE');
    await expect.poll(() => lost.ping().catch(() => 'lost'), PATIENCE).toBe('PONG');
    expect((await payout()).state).toBe('ready');
    expect((await desk.ledger.state.read()).armings).toBe(0);
    lost.disconnect();
  });

  test('there is no connection: it is refused at once and not kept for later', async () => {
    const gone = await connectArming(server);
    const { payouts } = openLedger({ redis: desk.redis, arming: gone }, { prefix: desk.prefix, dataDirId: DATA_DIR });
    gone.disconnect();
    await expect(payouts.arm(armingOf(await payout()))).rejects.toThrow(/writeable|closed/i);
    expect((await payout()).state).toBe('ready');
  });

  test('a server without the script gets it, and arms once', async () => {
    await desk.redis.script('FLUSH');
    expect(await refusalOf()).toBe('armed');
    expect((await desk.ledger.state.read()).armings).toBe(1);
  });
});
