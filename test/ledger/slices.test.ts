import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import type { GivenSlice } from '../../src/ledger/slices.ts';
import { feedRun } from '../../src/runs/feed.ts';
import { dueOf, setDue } from '../support/records.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  armPayout,
  freshRows,
  linesIn,
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

const ranges = (slices: readonly GivenSlice[]) => slices.map(({ from, to }) => `${from}-${to}`);

/** Makes all slices that are out want a job now, as time would. */
async function makeOverdue(runId: string): Promise<void> {
  const key = desk.keys.slices(runId);
  for (const slice of await desk.redis.zrange(key, 0, -1)) await desk.redis.zadd(key, 1, slice);
}

async function makeDue(ids: readonly { runId: string; line: number }[]): Promise<void> {
  const { redis, prefix } = desk;
  for (const [index, place] of ids.entries()) await setDue({ ...place, redis, prefix }, index + 1);
}

describe('the feed of a run', () => {
  test('gives out every ready payout once, and never more slices than the window', async () => {
    const runId = await payingRun(desk.ledger, freshRows(25));
    const given: string[] = [];
    for (;;) {
      const slices = await feedRun(desk.ledger, runId, { slice: 2, window: 4 });
      const { out } = await desk.ledger.slices.position(runId);
      expect(out).toBeLessThanOrEqual(4);
      if (slices.length === 0) break;
      given.push(...ranges(slices));
      const [done] = slices;
      if (done !== undefined) await desk.ledger.slices.end(runId, done);
      for (const slice of slices.slice(1)) await desk.ledger.slices.end(runId, slice);
    }
    expect(given).toEqual(Array.from({ length: 13 }, (_v, index) => `${2 + index * 2}-${Math.min(26, 3 + index * 2)}`));
  });

  test('gives nothing more while the window is full', async () => {
    const runId = await payingRun(desk.ledger, freshRows(10));
    const first = await feedRun(desk.ledger, runId, { slice: 1, window: 3 });
    expect(ranges(first)).toEqual(['2-2', '3-3', '4-4']);
    expect(await feedRun(desk.ledger, runId, { slice: 1, window: 3 })).toEqual([]);
    const [slice] = first;
    if (slice === undefined) throw new Error('no slice');
    expect(await desk.ledger.slices.end(runId, slice)).toEqual({ out: 2, more: true });
    expect(ranges(await feedRun(desk.ledger, runId, { slice: 1, window: 3 }))).toEqual(['5-5']);
  });

  test('by many processes at once gives out each slice once', async () => {
    const runId = await payingRun(desk.ledger, freshRows(100));
    const given = await Promise.all(
      Array.from({ length: 20 }, () => feedRun(desk.ledger, runId, { slice: 10, window: 200 })),
    );
    expect(given.filter((slices) => slices.length > 0)).toHaveLength(1);
    expect(ranges(given.flat())).toHaveLength(10);
  });

  test('is refused to who saw another cursor', async () => {
    const runId = await payingRun(desk.ledger, freshRows(3));
    const slices = [{ from: 2, to: 4 }];
    expect(await desk.ledger.slices.feed(runId, { seen: 1, cursor: 5, slices })).toBeUndefined();
    expect(await desk.ledger.slices.feed(runId, { seen: 0, cursor: 5, slices })).toMatch(/^[0-9]+$/);
    expect(await desk.ledger.slices.feed(runId, { seen: 0, cursor: 5, slices })).toBeUndefined();
    expect(await desk.ledger.slices.position(runId)).toEqual({ cursor: 5, lastLine: 4, releasedTo: 4, out: 1 });
  });

  test.each(['paused', 'cancelled'] as const)('of a run that is %s gives nothing', async (to) => {
    const runId = await payingRun(desk.ledger, freshRows(3));
    await desk.ledger.runs.move(runId, { to, actor: 'anna', reason: '' });
    expect(await feedRun(desk.ledger, runId, { slice: 1, window: 5 })).toEqual([]);
    const slices = [{ from: 2, to: 4 }];
    expect(await desk.ledger.slices.feed(runId, { seen: 0, cursor: 5, slices })).toBeUndefined();
  });

  test('leaves out what is not ready', async () => {
    const runId = await payingRun(desk.ledger, freshRows(6));
    for (const line of [2, 4, 7]) await movePayout(desk.ledger, { runId, line }, { to: 'held' });
    expect(ranges(await feedRun(desk.ledger, runId, { slice: 1, window: 10 }))).toEqual(['3-3', '5-5', '6-6']);
    expect((await desk.ledger.slices.position(runId)).out).toBe(3);
  });
});

describe('a slice', () => {
  test('that was given out anew is not ended by who had it before', async () => {
    const runId = await payingRun(desk.ledger, freshRows(2));
    const [slice] = await feedRun(desk.ledger, runId, { slice: 5, window: 5 });
    if (slice === undefined) throw new Error('no slice');
    await makeOverdue(runId);
    const [again] = await desk.ledger.slices.take(runId, 10);
    expect(again).toMatchObject({ from: 2, to: 3 });
    expect(await desk.ledger.slices.end(runId, slice)).toEqual({ out: 1, more: false });
    expect((await desk.ledger.slices.end(runId, again ?? slice)).out).toBe(0);
  });

  test('is left alone by the sweeper until its time has come, and is then taken by one', async () => {
    const runId = await payingRun(desk.ledger, freshRows(4));
    await feedRun(desk.ledger, runId, { slice: 1, window: 5 });
    expect(await desk.ledger.slices.take(runId, 10)).toEqual([]);
    await makeOverdue(runId);
    const taken = await Promise.all([1, 2, 3].map(() => desk.ledger.slices.take(runId, 10)));
    expect(ranges(taken.flat())).toEqual(['2-2', '3-3', '4-4', '5-5']);
    await makeOverdue(runId);
    expect(await desk.ledger.slices.take(runId, 3)).toHaveLength(3);
  });

  test('is not taken in a run that is not being paid, and is there when the run goes on', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    await feedRun(desk.ledger, runId, { slice: 1, window: 5 });
    await makeOverdue(runId);
    await desk.ledger.runs.move(runId, { to: 'paused', actor: 'anna', reason: '' });
    expect(await desk.ledger.slices.take(runId, 10)).toEqual([]);
    await desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
    expect(ranges(await desk.ledger.slices.take(runId, 10))).toEqual(['2-2']);
  });

  test('that is lost is found again: ready payouts that no slice holds are fed anew', async () => {
    const runId = await payingRun(desk.ledger, freshRows(3));
    await feedRun(desk.ledger, runId, { slice: 5, window: 5 });
    await sendTo(desk.ledger, { runId, line: 3 }, 'accepted');
    await desk.redis.del(desk.keys.slices(runId));
    expect(await feedRun(desk.ledger, runId, { slice: 1, window: 5 })).toEqual([]);
    expect(await desk.ledger.slices.take(runId, 10)).toEqual([]);
    expect(ranges(await feedRun(desk.ledger, runId, { slice: 1, window: 5 }))).toEqual(['2-2', '4-4']);
  });
});

describe('a deferred payout', () => {
  test('comes back by itself when its time has come, although its slice was ended', async () => {
    const runId = await payingRun(desk.ledger, freshRows(3));
    const [slice] = await feedRun(desk.ledger, runId, { slice: 5, window: 5 });
    if (slice === undefined) throw new Error('no slice');
    expect(await desk.ledger.payouts.defer({ runId, line: 3 }, { ms: 0, quoteFailed: true })).toMatchObject({
      failures: 1,
    });
    expect((await desk.ledger.slices.end(runId, slice)).out).toBe(1);
    const taken = await desk.ledger.slices.take(runId, 10);
    expect(ranges(taken)).toEqual(['3-3']);
  });

  test('whose slice is itself alone is not lost when the slice is ended', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const [slice] = await feedRun(desk.ledger, runId, { slice: 1, window: 5 });
    if (slice === undefined) throw new Error('no slice');
    await desk.ledger.payouts.defer({ runId, line: 2 }, { ms: 50_000, quoteFailed: false });
    expect((await desk.ledger.slices.end(runId, slice)).out).toBe(1);
    expect(await desk.ledger.slices.take(runId, 10)).toEqual([]);
  });

  test('counts failed quotes in a row, not other reasons to wait', async () => {
    const place = { runId: await payingRun(desk.ledger, freshRows(1)), line: 2 };
    const defer = async (quoteFailed: boolean) =>
      (await desk.ledger.payouts.defer(place, { ms: 0, quoteFailed }))?.failures;
    expect([await defer(true), await defer(true), await defer(false), await defer(true)]).toEqual([1, 2, 2, 3]);
  });

  test('is not put off once it is no longer ready', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    await armPayout(desk.ledger, { runId, line: 2 });
    expect(await desk.ledger.payouts.defer({ runId, line: 2 }, { ms: 0, quoteFailed: true })).toBeUndefined();
    expect(await desk.ledger.payouts.defer({ runId, line: 9 }, { ms: 0, quoteFailed: true })).toBeUndefined();
    expect((await desk.ledger.slices.position(runId)).out).toBe(0);
  });

  test('that is ready again after its quote died is given a job', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    await sendTo(desk.ledger, { runId, line: 2 }, 'unknown');
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'ready', dropQuote: 'proven-dead', dueMs: 0 });
    expect(ranges(await desk.ledger.slices.take(runId, 10))).toEqual(['2-2']);
    expect(await desk.ledger.slices.takeDue({ look: 10, track: 10 })).toEqual([]);
  });
});

describe('due payouts', () => {
  test('are taken once by many, in the order of their times, and put off', async () => {
    const runId = await payingRun(desk.ledger, freshRows(6));
    const places = [4, 2, 6, 3].map((line) => ({ runId, line }));
    for (const place of places) await sendTo(desk.ledger, place, 'unknown');
    await makeDue(places);
    const taken = await Promise.all([1, 2, 3].map(() => desk.ledger.slices.takeDue({ look: 10, track: 10 })));
    expect(taken.flat().map(({ line, state }) => [line, state])).toEqual(places.map(({ line }) => [line, 'unknown']));
    expect(await desk.redis.zcard(desk.keys.due)).toBe(1);
    expect(await desk.ledger.slices.takeDue({ look: 10, track: 10 })).toEqual([]);
  });

  test('are taken at the time that their move gave them', async () => {
    const runId = await payingRun(desk.ledger, freshRows(2));
    for (const [line, state] of [
      [2, 'unknown'],
      [3, 'accepted'],
    ] as const) {
      await sendTo(desk.ledger, { runId, line }, state);
      await movePayout(desk.ledger, { runId, line }, { dueMs: 0 });
    }
    const taken = await desk.ledger.slices.takeDue({ look: 10, track: 10 });
    expect(new Set(taken.map(({ line }) => line))).toEqual(new Set([2, 3]));
  });

  test('are taken again as soon as a look-up of them said so, and not before', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    await sendTo(desk.ledger, place, 'unknown');
    await movePayout(desk.ledger, place, { dueMs: 0 });
    const due = async () => (await desk.ledger.slices.takeDue({ look: 10, track: 10 })).map(({ line }) => line);
    expect([await due(), await due()]).toEqual([[2], []]);
    // Nothing is due again at the very moment at which it was due before.
    await delay(2);
    await movePayout(desk.ledger, place, { dueMs: 0 });
    expect([await due(), await due()]).toEqual([[2], []]);
  });

  test('are not taken before their time', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    await sendTo(desk.ledger, { runId, line: 2 }, 'unknown');
    expect(await desk.ledger.slices.takeDue({ look: 10, track: 10 })).toEqual([]);
  });

  test('are as many as were asked for of each kind', async () => {
    const runId = await payingRun(desk.ledger, freshRows(8));
    const places = Array.from({ length: 8 }, (_value, index) => ({ runId, line: index + 2 }));
    for (const [index, place] of places.entries()) {
      await sendTo(desk.ledger, place, index % 2 === 0 ? 'accepted' : 'unknown');
    }
    await makeDue(places);
    const taken = await desk.ledger.slices.takeDue({ look: 1, track: 2 });
    expect(taken.map(({ line, state }) => `${line} ${state}`).toSorted()).toEqual([
      '2 accepted',
      '3 unknown',
      '4 accepted',
    ]);
  });

  test('that have to be looked up are never kept waiting by accepted ones, however many are due before them', async () => {
    const rows = freshRows(1200);
    const runId = await payingRun(desk.ledger, rows);
    await Promise.all(rows.slice(0, -1).map(({ line }) => sendTo(desk.ledger, { runId, line }, 'accepted')));
    const last = { runId, line: rows.at(-1)?.line ?? 0 };
    await sendTo(desk.ledger, last, 'unknown');
    await makeDue(rows.map(({ line }) => ({ runId, line })));
    const taken = await desk.ledger.slices.takeDue({ look: 100, track: 10 });
    expect(taken.filter(({ state }) => state === 'unknown')).toEqual([{ ...last, state: 'unknown' }]);
  });

  test('whose payout is gone are forgotten', async () => {
    await desk.redis.zadd(desk.keys.due, 1, '20260131-gone00:0');
    expect(await desk.ledger.slices.takeDue({ look: 10, track: 10 })).toEqual([]);
    expect(await desk.redis.zcard(desk.keys.due)).toBe(0);
  });

  test('are all that may have been sent and are not settled: an arming is looked at by itself', async () => {
    const runId = await payingRun(desk.ledger, freshRows(2));
    await armPayout(desk.ledger, { runId, line: 2 }, { dueMs: 0 });
    expect(await desk.ledger.slices.takeDue({ look: 10, track: 10 })).toEqual([{ runId, line: 2, state: 'armed' }]);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'accepted', dueMs: 0 });
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'completed' });
    expect(await dueOf({ redis: desk.redis, prefix: desk.prefix, runId, line: 2 })).toBeNull();
    expect(await desk.ledger.slices.takeDue({ look: 10, track: 10 })).toEqual([]);
    expect(await linesIn(desk.ledger, runId, 'ready')).toEqual([3]);
  });
});
