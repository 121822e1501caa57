import { isDeepStrictEqual } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { OPEN_STATES, PAYOUT_STATES, RUN_MOVES, RUN_STATES, type RunState } from '../../src/payout.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  armPayout,
  claimRun,
  dumpOf,
  freshRows,
  movePayout,
  newLedger,
  payingRun,
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

const move = (runId: string, to: RunState, reason = '') => desk.ledger.runs.move(runId, { to, actor: 'anna', reason });

/** The ways that runs really take to a state. */
const WAYS: Readonly<Record<RunState, readonly RunState[]>> = {
  recording: [],
  'awaiting-approval': ['awaiting-approval'],
  paying: ['paying'],
  paused: ['paying', 'paused'],
  finished: ['paying', 'finished'],
  cancelled: ['cancelled'],
};

async function approve(runId: string, holdsMs = 60_000): Promise<void> {
  const entry = { by: 'bob', digest: 'd1', seen: [], void: [], needed: 1, holdsMs };
  expect(await desk.ledger.approvals.approve(runId, entry)).toMatchObject({ result: 'approved', count: 1 });
}

async function runIn(state: RunState): Promise<string> {
  const runId = await claimRun(desk.ledger, []);
  for (const to of WAYS[state]) expect((await move(runId, to)).result).toBe('moved');
  if (state === 'awaiting-approval') await approve(runId);
  return runId;
}

test('a run that waits for its approval is not paid without one that holds', async () => {
  const runId = await claimRun(desk.ledger, []);
  await move(runId, 'awaiting-approval');
  expect(await move(runId, 'paying')).toEqual({ result: 'unapproved', state: 'awaiting-approval' });
  await approve(runId, -1);
  expect(await move(runId, 'paying')).toEqual({ result: 'unapproved', state: 'awaiting-approval' });
});

describe('the table of runs', () => {
  const pairs = RUN_STATES.flatMap((from) => RUN_STATES.map((to) => ({ from, to })));

  test.each(pairs)('a run that is $from goes to $to exactly if the table says so', async ({ from, to }) => {
    const runId = await runIn(from);
    const before = await dumpOf(desk);
    const answer = await move(runId, to);
    const allowed = RUN_MOVES[from].includes(to);
    const result = allowed ? 'moved' : from === to ? 'there' : 'forbidden';
    expect(answer).toEqual({ result, state: allowed ? to : from });
    expect((await desk.ledger.runs.read(runId))?.state).toBe(answer.state);
    const after = await dumpOf(desk);
    expect(isDeepStrictEqual(after, before)).toBe(!allowed);
  });

  test('a run that is not there is missing', async () => {
    expect((await move('20260131-nobody', 'paying')).result).toBe('missing');
  });

  test('of 20 approvals and 20 cancellations at once one comes through first, and the run ends cancelled', async () => {
    const runId = await runIn('awaiting-approval');
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_value, index) => move(runId, index % 2 === 0 ? 'paying' : 'cancelled')),
    );
    expect(answers.filter(({ result }) => result === 'moved').length).toBeLessThanOrEqual(2);
    expect((await desk.ledger.runs.read(runId))?.state).toBe('cancelled');
  });
});

describe('a run is finished', () => {
  test.each(OPEN_STATES)('never while a payout is %s', async (state) => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    if (state === 'armed') await armPayout(desk.ledger, place);
    if (state === 'quoted' || state === 'unknown') await sendTo(desk.ledger, place, state);
    expect(await move(runId, 'finished')).toEqual({ result: 'open', state: 'paying' });
    expect(await finishRun(desk.ledger, runId)).toBe(false);
  });

  test.each(['held', 'accepted', 'rejected', 'completed', 'failed', 'returned'] as const)(
    'also when a payout is %s, and it is watched from then on',
    async (state) => {
      const runId = await payingRun(desk.ledger, freshRows(1));
      await sendTo(desk.ledger, { runId, line: 2 }, state);
      expect(await finishRun(desk.ledger, runId)).toBe(true);
      const run = await desk.ledger.runs.read(runId);
      expect(run?.state).toBe('finished');
      expect(run?.finishedAt).toBeGreaterThanOrEqual(run?.createdAt ?? Number.NaN);
      expect(await desk.ledger.runs.live()).toEqual([runId]);
      await desk.ledger.runs.leave(runId);
      expect(await desk.ledger.runs.live()).toEqual([]);
      expect(await desk.redis.zscore(desk.keys.watch, runId)).not.toBeNull();
    },
  );

  test('and stays among the live ones when a held payout of it was allowed before it was left', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'held' });
    expect(await finishRun(desk.ledger, runId)).toBe(true);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'ready', dueMs: 0 });
    await desk.ledger.runs.leave(runId);
    expect(await desk.ledger.runs.live()).toEqual([runId]);
    await move(runId, 'paused', 'a look');
    await desk.ledger.runs.leave(runId);
    expect(await desk.ledger.runs.live()).toEqual([runId]);
  });

  test('from a pause too, once its last payout is settled', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    await sendTo(desk.ledger, { runId, line: 2 }, 'accepted');
    await move(runId, 'paused', 'a look');
    expect(await finishRun(desk.ledger, runId)).toBe(true);
    expect((await desk.ledger.runs.read(runId))?.pauseReason).toBeNull();
  });

  test('and then no held payout of it is ready again without the run being paid again', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    await movePayout(desk.ledger, place, { to: 'held' });
    expect(await finishRun(desk.ledger, runId)).toBe(true);
    await movePayout(desk.ledger, place, { to: 'ready', dueMs: 0 });
    const run = await desk.ledger.runs.read(runId);
    expect(run?.state === 'finished' && run.counts.ready > 0).toBe(false);
  });
});

describe('a cancelled run', () => {
  test('cancels what was never sent, waits for what was, and is over then', async () => {
    const runId = await payingRun(desk.ledger, freshRows(3));
    await sendTo(desk.ledger, { runId, line: 2 }, 'unknown');
    await move(runId, 'cancelled');
    expect(await finishRun(desk.ledger, runId)).toBe(false);
    expect((await desk.ledger.runs.read(runId))?.counts).toMatchObject({ unknown: 1, cancelled: 2, ready: 0 });
    expect(await desk.ledger.runs.live()).toEqual([runId]);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'accepted' });
    expect(await finishRun(desk.ledger, runId)).toBe(true);
    await desk.ledger.runs.leave(runId);
    expect(await desk.ledger.runs.live()).toEqual([]);
  });
});

describe('a pause', () => {
  test('keeps its reason until the run goes on, and both are in its events', async () => {
    const runId = await runIn('paying');
    await move(runId, 'paused', 'no balance');
    expect(await desk.ledger.runs.read(runId)).toMatchObject({ state: 'paused', pauseReason: 'no balance' });
    await move(runId, 'paused', 'another reason');
    expect((await desk.ledger.runs.read(runId))?.pauseReason).toBe('no balance');
    await move(runId, 'paying', 'paid in');
    expect((await desk.ledger.runs.read(runId))?.pauseReason).toBeNull();
    const events = await desk.ledger.runs.events(runId);
    expect(events.map(({ event, actor, reason }) => [event, actor, reason])).toEqual([
      ['paying', 'anna', ''],
      ['paused', 'anna', 'no balance'],
      ['paying', 'anna', 'paid in'],
    ]);
  });

  test('is not ended while everything is halted, nor by one person', async () => {
    const runId = await runIn('paused');
    await desk.ledger.state.halt('anna', 'look');
    expect(await move(runId, 'paying')).toEqual({ result: 'halted', state: 'paused' });
    await releaseHalt({ ledger: desk.ledger }, 'anna');
    expect((await move(runId, 'paying')).result).toBe('halted');
    await releaseHalt({ ledger: desk.ledger }, 'ben');
    expect((await move(runId, 'paying')).result).toBe('moved');
  });
});

describe('the book of runs', () => {
  test('lists the newest first and walks all that are recorded, until they leave', async () => {
    const ids: string[] = [];
    for (const state of ['recording', 'paying', 'paused', 'finished', 'cancelled'] as const) {
      ids.push(await runIn(state));
    }
    const created = await Promise.all(ids.map(async (id) => (await desk.ledger.runs.read(id))?.createdAt ?? 0));
    const listed = await desk.ledger.runs.list();
    expect(listed.toSorted()).toEqual(ids.toSorted());
    const times = listed.map((id) => created[ids.indexOf(id)] ?? 0);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    const live = ids.slice(1).toSorted();
    expect((await desk.ledger.runs.live()).toSorted()).toEqual(live);
  });

  test('has each change of a run and of its payouts in a number that grows', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const seen = [(await desk.ledger.runs.read(runId))?.changes ?? 0];
    const look = async () => seen.push((await desk.ledger.runs.read(runId))?.changes ?? 0);
    await sendTo(desk.ledger, { runId, line: 2 }, 'accepted');
    await look();
    await movePayout(desk.ledger, { runId, line: 2 }, { values: { paymentState: 'EXECUTED' } });
    await look();
    await move(runId, 'paused');
    await look();
    expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b));
  });

  test('finds the lines of a state from any line on, also far down in a large run', async () => {
    const rows = freshRows(20).map((row, index) => ({ ...row, line: 3 + index * 3571 }));
    const runId = await payingRun(desk.ledger, rows);
    const lines = rows.map(({ line }) => line);
    for (const from of [0, 3, 4, 32_767, 32_768, 32_769, 67_852, 67_853]) {
      const found: number[] = [];
      for await (const piece of desk.ledger.runs.linesIn(runId, { state: 'ready', from })) found.push(...piece);
      expect(found).toEqual(lines.filter((line) => line >= from));
    }
  });

  test('gives a run whose counters are all nothing when nothing is recorded', async () => {
    const run = await desk.ledger.runs.read(await runIn('recording'));
    expect(PAYOUT_STATES.every((state) => run?.counts[state] === 0)).toBe(true);
    expect(run).toMatchObject({ deadQuotes: 0, deadQuotesFound: null, finishedAt: null, pauseReason: null });
  });
});

async function makeWatchDue(runId: string): Promise<void> {
  await desk.redis.zadd(desk.keys.watch, 0, runId);
}

describe('watching for returns', () => {
  const DAY_MS = 86_400_000;

  test('begins anew with a payment that is completed long after the end of its run', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    await sendTo(desk.ledger, { runId, line: 2 }, 'unknown');
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'held' });
    await move(runId, 'finished');
    await desk.redis.hset(desk.keys.run(runId), 'finishedAt', 1);
    await makeWatchDue(runId);
    expect(await desk.ledger.runs.takeWatch(DAY_MS, Date.now())).toEqual([]);
    expect(await desk.redis.zscore(desk.keys.watch, runId)).toBeNull();
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'accepted' });
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'completed' });
    await desk.ledger.runs.takeWatch(DAY_MS, Date.now());
    await makeWatchDue(runId);
    expect(await desk.ledger.runs.takeWatch(DAY_MS, Date.now())).toEqual([runId]);
    expect(await desk.redis.zscore(desk.keys.watch, runId)).not.toBeNull();
  });

  test('begins a day after the end, comes daily, and is taken by one', async () => {
    const runId = await runIn('finished');
    expect(await desk.ledger.runs.takeWatch(DAY_MS, Date.now())).toEqual([]);
    expect(await desk.ledger.runs.takeWatch(DAY_MS, Date.now())).toEqual([]);
    await makeWatchDue(runId);
    const taken = await Promise.all([1, 2, 3].map(() => desk.ledger.runs.takeWatch(DAY_MS, Date.now())));
    expect(taken.flat()).toEqual([runId]);
  });

  test('does not end because the clock of Redis is ahead of all others', async () => {
    const runId = await runIn('finished');
    await makeWatchDue(runId);
    await desk.ledger.runs.takeWatch(-1, 0);
    expect(await desk.redis.zscore(desk.keys.watch, runId)).not.toBeNull();
  });

  test('ends when the time is over, but not while a payment is still under way', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    await sendTo(desk.ledger, { runId, line: 2 }, 'accepted');
    await move(runId, 'finished');
    await desk.redis.hset(desk.keys.run(runId), 'finishedAt', 1);
    await makeWatchDue(runId);
    await desk.ledger.runs.takeWatch(DAY_MS, Date.now());
    expect(await desk.redis.zscore(desk.keys.watch, runId)).not.toBeNull();
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'completed' });
    await makeWatchDue(runId);
    await desk.redis.hset(desk.keys.run(runId), 'completedAt', 1);
    expect(await desk.ledger.runs.takeWatch(DAY_MS, Date.now())).toEqual([]);
    expect(await desk.redis.zscore(desk.keys.watch, runId)).toBeNull();
  });
});
