import { expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { compareRows, type ListedRow, openRowLists } from '../../src/runs/search/row-list.ts';
import { longestTurnMs } from './turns.ts';

const TURN_MS_MAX = 60;
const ROWS = 50_000;
/** Shares no factor with the number of rows: each of them comes once. */
const STEP = 7919;

function rowAt(line: number): ListedRow {
  const shuffled = (line * STEP) % ROWS;
  const amount = { minor: BigInt(shuffled >> 1), currency: 'USD' };
  return { line, reference: `INVOICE-2026-${shuffled}`, beneficiary: `b${shuffled % 1000}`, amount };
}

test('to sort the largest run that is sorted keeps nobody else waiting, and equal rows stay in the order of the file', async () => {
  const rows = Array.from({ length: ROWS }, (_, index) => rowAt(index + 1));
  const ledger = {
    slices: { position: async () => ({ lastLine: ROWS }) },
    names: { read: async () => new Map() },
    runs: {
      texts: async (_run: string, from: number, to: number) => rows.slice(from - 1, to),
      async *rows() {},
    },
  } as unknown as Ledger;
  const list = await openRowLists({ ledger, clock: systemClock })({ id: 'r1', recordedAt: 0, purgedAt: null });
  for (const column of ['reference', 'beneficiary', 'amount'] as const) {
    for (const direction of [1, -1] as const) {
      const sorting = (async () => await list.sorted(column, direction))();
      const { value, longestMs } = await longestTurnMs(sorting);
      expect(value).toEqual(rows.toSorted((one, other) => compareRows(one, other, { column, direction })));
      expect(longestMs).toBeLessThan(TURN_MS_MAX);
    }
  }
});
