import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findRows } from '../../src/runs/find-rows.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { freshLedger, movePayout, recordRun } from './recorded-run.ts';

let server: TestRedis;
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.stop();
});

describe('rows are found by their reference', () => {
  test('when it stands for a payout of another run by now', async () => {
    const ledger = await freshLedger(server.redis);
    await recordRun(ledger, { id: 'r1', lines: [2] });
    await movePayout(ledger, { runId: 'r1', line: 2 }, 'cancelled');
    await recordRun(ledger, { id: 'r2', lines: [2] });
    await recordRun(ledger, { id: 'r3', lines: [2] });
    // A run of this many rows is not looked through: its held, refused and given up rows are.
    for (const id of ['r1', 'r2', 'r3']) {
      const found = await findRows(ledger, { id, rows: 1_000_000 }, { reference: 'INV-2' });
      expect({ id, lines: found.rows.map(({ line }) => line) }).toEqual({ id, lines: [2] });
      expect(found.isWhole).toBe(true);
    }
  });

  test('and only those with the outcome that is asked for', async () => {
    const ledger = await freshLedger(server.redis);
    await recordRun(ledger, { id: 'r1', lines: [2], refused: [9] });
    for (const [reference, outcome, line] of [
      ['INV-2', 'waiting', 2],
      ['BAD 9', 'refused', 9],
    ] as const) {
      const run = { id: 'r1', rows: 2 };
      expect((await findRows(ledger, run, { reference, outcome })).rows).toMatchObject([{ line }]);
      expect((await findRows(ledger, run, { reference, outcome: 'held' })).rows).toEqual([]);
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
      expect((await findRows(ledger, { id, rows: 1 }, { reference })).rows).toEqual([]);
    }
  });
});
