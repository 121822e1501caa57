import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Slice } from '../../src/ledger/slices.ts';
import { cutSlices, type FeedRules, feedRun, rankOf, sliceSize } from '../../src/runs/feed.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { freshLedger, movePayout, recordRun } from './recorded-run.ts';

const upTo = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_value, index) => first + index);

const linesOf = (slices: readonly Slice[]): number[] => slices.flatMap(({ from, to }) => upTo(from, to));

describe('the size of a slice', () => {
  test.each([
    [0, 1],
    [1, 1],
    [200, 1],
    [201, 2],
    [1000, 5],
    [9999, 50],
    [10_000, 50],
    [1_000_000, 50],
  ])('of a run of %i rows is %i payouts', (rows, size) => {
    expect(sliceSize(rows, undefined)).toBe(size);
  });

  test.each([1, 7, 1000])('is %i when the setting says so', (setting) => {
    expect(sliceSize(1_000_000, setting)).toBe(setting);
  });
});

test.each([
  [2, 0],
  [256, 0],
  [257, 1],
  [512, 1],
  [513, 2],
  [1_000_001, 12],
  [2_000_001, 13],
])('the slice that begins at line %i has the rank %i', (line, rank) => {
  expect(rankOf(line)).toBe(rank);
});

describe('cutting', () => {
  test.each<[lines: number[], size: number, slices: [number, number][]]>([
    [[], 5, []],
    [[2], 5, [[2, 2]]],
    [
      [2, 3, 4],
      1,
      [
        [2, 2],
        [3, 3],
        [4, 4],
      ],
    ],
    [
      [2, 3, 4, 5, 6],
      2,
      [
        [2, 3],
        [4, 5],
        [6, 6],
      ],
    ],
    [
      [2, 9, 40],
      2,
      [
        [2, 9],
        [40, 40],
      ],
    ],
    [
      [2, 202, 403],
      5,
      [
        [2, 202],
        [403, 403],
      ],
    ],
  ])('%o into slices of %i gives %o', (lines, size, slices) => {
    expect(cutSlices(lines, size)).toEqual(slices.map(([from, to]) => ({ from, to })));
  });

  test('puts every line into exactly one slice, none above its size, none far from the next', () => {
    const ascending = fc.uniqueArray(fc.integer({ min: 2, max: 3000 }), { maxLength: 300 });
    fc.assert(
      fc.property(ascending, fc.integer({ min: 1, max: 60 }), (unsorted, size) => {
        const lines = unsorted.toSorted((a, b) => a - b);
        const slices = cutSlices(lines, size);
        const parts = slices.map(({ from, to }) => lines.filter((line) => line >= from && line <= to));
        expect(parts.flat()).toEqual(lines);
        for (const part of parts) {
          expect(part.length).toBeGreaterThan(0);
          expect(part.length).toBeLessThanOrEqual(size);
          for (const [index, line] of part.entries()) expect(line - (part[index - 1] ?? line)).toBeLessThanOrEqual(200);
        }
      }),
    );
  });
});

describe('feeding a run', () => {
  let server: TestRedis;
  let ledger: Ledger;
  beforeAll(async () => {
    server = await startTestRedis();
  });
  afterAll(async () => {
    await server.stop();
  });
  beforeEach(async () => {
    ledger = await freshLedger(server.redis);
  });

  const feed = async (runId: string, rules: Partial<FeedRules> = {}): Promise<Slice[]> => {
    const given = await feedRun(ledger, runId, { slice: undefined, window: 200, ...rules });
    return given.map(({ from, to }) => ({ from, to }));
  };

  test('a small run is given out whole, a payout to a slice', async () => {
    const runId = await recordRun(ledger, { lines: upTo(2, 21) });
    const slices = await feed(runId);
    expect(slices).toHaveLength(20);
    expect(linesOf(slices)).toEqual(upTo(2, 21));
    expect(await feed(runId)).toEqual([]);
  });

  test('no more slices are out than the window holds, and each that ends makes room for the next', async () => {
    const runId = await recordRun(ledger, { lines: upTo(2, 101) });
    const rules = { slice: 10, window: 3 };
    const first = await feedRun(ledger, runId, rules);
    expect(linesOf(first)).toEqual(upTo(2, 31));
    expect(await feed(runId, rules)).toEqual([]);
    const [one] = first;
    if (one === undefined) throw new Error('nothing was given out');
    expect(await ledger.slices.end(runId, one)).toEqual({ out: 2, more: true });
    expect(linesOf(await feed(runId, rules))).toEqual(upTo(32, 41));
  });

  test('many processes at once give every payout out once', async () => {
    const runId = await recordRun(ledger, { lines: upTo(2, 301) });
    const given: number[] = [];
    while (given.length < 300) {
      const rounds = await Promise.all(upTo(1, 8).map(() => feedRun(ledger, runId, { slice: 7, window: 5 })));
      const slices = rounds.flat();
      expect(slices.length).toBeGreaterThan(0);
      expect(slices.length).toBeLessThanOrEqual(5);
      given.push(...linesOf(slices));
      await Promise.all(slices.map((slice) => ledger.slices.end(runId, slice)));
    }
    expect(given).toEqual(upTo(2, 301));
    expect(await feed(runId)).toEqual([]);
  });

  test('what is not ready is not given out', async () => {
    const runId = await recordRun(ledger, { lines: [2, 3, 5, 6], refused: [4] });
    await movePayout(ledger, { runId, line: 3 }, 'held');
    expect(await feed(runId, { slice: 1 })).toEqual([2, 5, 6].map((line) => ({ from: line, to: line })));
  });

  test('rows far apart, and the first after a long gap, are all found', async () => {
    const lines = [2, 3, 900, 40_000, 40_001, 70_000];
    const runId = await recordRun(ledger, { lines });
    const slices: Slice[] = [];
    for (let part = await feed(runId, { slice: 5, window: 2 }); part.length > 0; ) {
      slices.push(...part);
      const out = await ledger.slices.position(runId);
      expect(out.out).toBeLessThanOrEqual(slices.length);
      part = await feed(runId, { slice: 5, window: 2 + slices.length });
    }
    expect(slices).toEqual([
      { from: 2, to: 3 },
      { from: 900, to: 900 },
      { from: 40_000, to: 40_001 },
      { from: 70_000, to: 70_000 },
    ]);
  });

  test.each(['paused', 'cancelled'] as const)('a %s run is given out nothing of', async (to) => {
    const runId = await recordRun(ledger, { lines: [2, 3] });
    await ledger.runs.move(runId, { to, actor: 'test', reason: 'test' });
    expect(await feed(runId)).toEqual([]);
  });

  test('a run that there is not is given out nothing of', async () => {
    expect(await feed('20260131-absent')).toEqual([]);
  });

  test('a payout that became ready again is found though the feed has passed it', async () => {
    const runId = await recordRun(ledger, { lines: upTo(2, 5) });
    await movePayout(ledger, { runId, line: 3 }, 'held');
    for (const slice of await feedRun(ledger, runId, { slice: 10, window: 5 })) await ledger.slices.end(runId, slice);
    await movePayout(ledger, { runId, line: 3 }, 'ready');
    const again = await ledger.slices.take(runId, 10);
    expect(linesOf(again)).toEqual([3]);
  });
});
