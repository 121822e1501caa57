import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { systemRandom } from '../../src/clock.ts';
import { writeOffDataDir } from '../../src/runs/safety/write-off.ts';
import { type Host, hostOf, joinSeason, joinTogether } from '../ledger/recovery-desk.ts';
import {
  allRows,
  connectArming,
  freshRows,
  newLedger,
  PATIENCE,
  recordRows,
  type TestLedger,
} from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';

/* The eighth attack: the week after a loss in which a forgotten file is in doubt counts from the first hand-in. */

const DAY_MS = 24 * 60 * 60_000;

let server: TestRedis;
let arming: Redis;
let desk: TestLedger;
let folder: string;

beforeAll(async () => {
  server = await startTestRedis();
  arming = await connectArming(server);
});
afterAll(async () => {
  arming.disconnect();
  await server.stop();
});
beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
  folder = mkdtempSync(join(tmpdir(), 'payrun-test-'));
  await joinTogether(['dir-a', 'dir-b', 'dir-c'].map(host));
});
afterEach(() => rmSync(folder, { recursive: true }));

const host = (dataDirId: string): Host => hostOf(folder, desk.in(dataDirId), dataDirId);
const newId = (): string => `20260131-${systemRandom.bytes(3).toString('hex')}`;

test('a file that the lost host had, and that was handed in again more than a week after the loss, is in doubt after one more restore', async () => {
  await server.restart();
  await expect.poll(() => arming.ping().catch(() => 'lost'), PATIENCE).toBe('PONG');
  for (const dataDirId of ['dir-a', 'dir-c']) await joinSeason(host(dataDirId));
  for (const actor of ['anna', 'bob'])
    await writeOffDataDir({ ledger: desk.ledger }, 'dir-b', { actor, reason: 'it burnt down' });
  expect((await desk.ledger.state.season()).open).toBe(true);
  // Before the loss the office had handed the file in, and dir-b had paid it; nobody else has that entry. Nine days after the loss
  // the office asks for it, and hands it in again ("run.attached"): its rows were held. Then Redis goes back to the copy of the night before.
  const id = newId();
  const run = { id, fileSha256: id.repeat(8), contentHash: `c-${id}` };
  // A worker compares first: of its copies (src/runs/safety/missed-decisions.ts, stopAndRedo).
  await desk.ledger.recovery.restoreRun({ ...run, handedInAt: Date.now() + 9 * DAY_MS });
  // The office comes then, with both entries, in the order of their times.
  await desk.ledger.recovery.restoreRun({ ...run, handedInAt: Date.now() - DAY_MS });
  await desk.ledger.recovery.restoreRun({ ...run, handedInAt: Date.now() + 9 * DAY_MS });
  expect(await recordRows(desk.ledger, id, freshRows(2))).toBe('recorded');
  const states = (await allRows(desk.ledger, id)).map((row) => ('row' in row ? row.state : 'refused'));
  expect(states).toEqual(['held', 'held']);
});
