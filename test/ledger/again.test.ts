import { beforeEach, describe, expect, test } from 'vitest';
import type { PayoutRow } from '../../src/payout.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  freshRows,
  movePayout,
  newLedger,
  readPayout,
  recordRows,
  sendTo,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;
let rows: PayoutRow[];

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
  rows = freshRows(2);
});

async function claim(id: string, again: boolean): Promise<{ id: string; result: string }> {
  const file = { fileName: 'payouts.csv', fileSha256: 'file', contentHash: 'content', rows: 2, fileTotals: [] };
  return await desk.ledger.runs.claim({ id, ...file, createdBy: 'anna', again });
}

/** The first run of the file, over, with its two payouts in these states. */
async function overRun(
  states: readonly ['cancelled' | 'failed' | 'completed' | 'held', 'cancelled' | 'failed' | 'rejected'],
) {
  await claim('run-1', false);
  await recordRows(desk.ledger, 'run-1', rows);
  await desk.ledger.runs.move('run-1', { to: 'paying', actor: 'anna', reason: '' });
  for (const [index, state] of states.entries()) {
    const place = { runId: 'run-1', line: rows[index]?.line ?? 0 };
    if (state === 'cancelled') {
      await movePayout(desk.ledger, place, { to: 'held' });
      await movePayout(desk.ledger, place, { to: 'cancelled' });
    } else await sendTo(desk.ledger, place, state);
  }
  await desk.ledger.runs.move('run-1', { to: 'finished', actor: 'anna', reason: '' });
}

describe('the content of a run that is over', () => {
  test('is that run, also when nothing of it was paid', async () => {
    await overRun(['cancelled', 'cancelled']);
    expect(await claim('run-2', false)).toEqual({ id: 'run-1', result: 'known' });
  });

  test('makes a new run when it is asked for again and nothing of it was paid; its rows are payable', async () => {
    await overRun(['cancelled', 'failed']);
    expect(await claim('run-2', true)).toEqual({ id: 'run-2', result: 'new' });
    await recordRows(desk.ledger, 'run-2', rows);
    for (const { line } of rows) {
      expect((await readPayout(desk.ledger, { runId: 'run-2', line })).state).toBe('ready');
    }
    // From now on it is the second run's, also for who carries on after a crash.
    expect(await claim('run-3', true)).toEqual({ id: 'run-2', result: 'known' });
    expect(await claim('run-3', false)).toEqual({ id: 'run-2', result: 'known' });
  });

  test.each(['completed', 'held'] as const)('makes none when a payout of it is %s', async (state) => {
    await overRun([state, 'cancelled']);
    expect(await claim('run-2', true)).toEqual({ id: 'run-1', result: 'known' });
  });

  test('whose refusal is not confirmed may be asked for again, and that row is held', async () => {
    await overRun(['cancelled', 'rejected']);
    expect((await claim('run-2', true)).result).toBe('new');
    await recordRows(desk.ledger, 'run-2', rows);
    const states = await Promise.all(rows.map(({ line }) => readPayout(desk.ledger, { runId: 'run-2', line })));
    expect(states.map(({ state }) => state)).toEqual(['ready', 'held']);
  });
});

test('the content of a run that goes on is that run, however often it is asked for again', async () => {
  await claim('run-1', false);
  expect(await claim('run-2', true)).toEqual({ id: 'run-1', result: 'known' });
  await recordRows(desk.ledger, 'run-1', rows);
  await desk.ledger.runs.move('run-1', { to: 'paying', actor: 'anna', reason: '' });
  expect(await claim('run-2', true)).toEqual({ id: 'run-1', result: 'known' });
});
