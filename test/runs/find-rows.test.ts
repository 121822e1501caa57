import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { openFindRows } from '../../src/runs/find-rows.ts';
import type { RowSearch } from '../../src/runs/search/row-search.ts';
import { useTestRedis } from '../support/redis.ts';
import { freshLedger, movePayout, recordRun } from './recorded-run.ts';

const server = await useTestRedis();

const LARGE = 1_000_000;

/** The lines that are found, of a run that is as large as it is or said to be. */
async function find(
  ledger: Ledger,
  { id, rows }: { id: string; rows?: number },
  search: Partial<RowSearch>,
): Promise<{ lines: number[]; isWhole: boolean }> {
  const run = await ledger.runs.read(id);
  if (run === undefined) throw new Error(`no run ${id}`);
  const found = await openFindRows({ ledger, clock: systemClock })({ ...run, rows: rows ?? run.rows }, search);
  const shown = await found.page(0, 100);
  const all: number[] = [];
  for await (const batch of found.all()) all.push(...batch.map(({ line }) => line));
  const lines = shown.map(({ line }) => line);
  expect({ all, count: found.count }).toEqual({ all: lines, count: lines.length });
  return { lines, isWhole: found.isWhole };
}

describe('rows are found by their reference', () => {
  test('when it stands for a payout of another run by now', async () => {
    const ledger = await freshLedger(server.redis);
    await recordRun(ledger, { id: 'r1', lines: [2] });
    await movePayout(ledger, { runId: 'r1', line: 2 }, 'cancelled');
    await recordRun(ledger, { id: 'r2', lines: [2] });
    await recordRun(ledger, { id: 'r3', lines: [2] });
    // A run of this many rows is not looked through: its held, refused and given up rows are.
    for (const id of ['r1', 'r2', 'r3']) {
      expect({ id, ...(await find(ledger, { id, rows: LARGE }, { reference: 'INV-2' })) }).toEqual({
        id,
        lines: [2],
        isWhole: true,
      });
    }
  });

  test('and only those with the outcome that is asked for', async () => {
    const ledger = await freshLedger(server.redis);
    await recordRun(ledger, { id: 'r1', lines: [2], refused: [9] });
    for (const [reference, outcome, line] of [
      ['INV-2', 'waiting', 2],
      ['BAD 9', 'refused', 9],
    ] as const) {
      for (const rows of [2, LARGE]) {
        const run = { id: 'r1', rows };
        expect((await find(ledger, run, { reference, outcome })).lines).toEqual([line]);
        expect((await find(ledger, run, { reference, outcome: 'held' })).lines).toEqual([]);
      }
    }
  });

  test('and by no other spelling of it, nor in a run whose id begins like theirs', async () => {
    const ledger = await freshLedger(server.redis);
    await recordRun(ledger, { id: 'r1', lines: [2] });
    await recordRun(ledger, { id: 'r12', lines: [3] });
    for (const [id, reference] of [
      ['r1', 'inv-2'],
      ['r1', 'INV-2 '],
      ['r1', 'INV-3'],
      ['r12', 'INV-2'],
    ] as const) {
      for (const rows of [1, LARGE]) expect((await find(ledger, { id, rows }, { reference })).lines).toEqual([]);
    }
  });
});
