import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { purgeRun } from '../../src/runs/after/purge.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  allRows,
  freshRows,
  movePayout,
  newLedger,
  payingRun,
  reportDeps,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;
beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
});

test('a purge gives the references of all rows free that came to nothing, and forgets all quotes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-purge-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const rows = freshRows(700);
  const runId = await payingRun(desk.ledger, rows);
  await Promise.all(rows.map(({ line }) => movePayout(desk.ledger, { runId, line }, { to: 'rejected' })));
  await desk.ledger.runs.move(runId, { to: 'finished', actor: 'payrun', reason: '' });
  await desk.ledger.runs.leave(runId);
  await desk.ledger.runs.takeWatch(-1, Date.now());
  const { changes } = (await desk.ledger.runs.read(runId)) ?? { changes: 0 };
  await desk.ledger.runs.note(runId, { reportedChanges: String(changes) });
  expect(
    await purgeRun(reportDeps(desk.ledger, folder), runId, {
      actor: 'anna',
      olderThanMs: 0,
    }),
  ).toBe('purged');
  // Before the purge the retry file's rows were free; they are so after it.
  const again = await payingRun(desk.ledger, rows);
  const held = (await allRows(desk.ledger, again))
    .filter((row) => 'row' in row && row.state === 'held')
    .map(({ line }) => line);
  expect([held.length, held[0], held.at(-1)]).toEqual([0, undefined, undefined]);
});
