import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemRandom } from '../../src/clock.ts';
import type { Payout } from '../../src/payout.ts';
import { purgeRun } from '../../src/runs/after/purge.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { type WrittenOff, writeOffDataDir } from '../../src/runs/safety/write-off.ts';
import { armOn, type Host, hostOf, joinSeason, joinTogether } from '../ledger/recovery-desk.ts';
import {
  allRows,
  connectArming,
  freshRows,
  movePayout,
  newLedger,
  PATIENCE,
  payingRun,
  readPayout,
  recordRows,
  type TestLedger,
} from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';

/* The eighth attack (unused imports may be left). */

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

function host(dataDirId: string): Host {
  return hostOf(folder, desk.in(dataDirId), dataDirId);
}

function writeOff(actor: string, dataDirId = 'dir-b'): Promise<WrittenOff> {
  return writeOffDataDir({ ledger: desk.ledger }, dataDirId, { actor, reason: 'it burnt down' });
}

async function awaitRedis(): Promise<void> {
  await expect.poll(() => arming.ping().catch(() => 'lost'), PATIENCE).toBe('PONG');
}

async function restart(left: readonly string[] = ['dir-a', 'dir-c']): Promise<void> {
  await server.restart();
  await awaitRedis();
  for (const dataDirId of left) await joinSeason(host(dataDirId));
}

/** Does something of which Redis knows nothing afterwards; then the directories that are left compare, in this order. */
async function forgotten<Result>(act: () => Promise<Result>, left?: readonly string[]): Promise<Result> {
  const files = join(dirname(server.socket), 'appendonlydir');
  const copy = join(folder, 'copy');
  cpSync(files, copy, { recursive: true });
  const result = await act();
  const { pid } = server;
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => isRunning(pid), PATIENCE).toBe(false);
  rmSync(files, { recursive: true });
  cpSync(copy, files, { recursive: true });
  await restart(left);
  return result;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function releaseAndResume(runId: string): Promise<void> {
  expect(await releaseHalt({ ledger: desk.ledger }, 'anna')).toBe('proposed');
  expect(await releaseHalt({ ledger: desk.ledger }, 'bob')).toBe('released');
  expect((await desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' })).result).toBe('moved');
}

async function only(armed: Promise<Payout[]>): Promise<Payout> {
  const [payout] = await armed;
  if (payout === undefined) throw new Error('not armed');
  return payout;
}

async function statesOf(runId: string): Promise<string[]> {
  return (await allRows(desk.ledger, runId)).map((row) => ('row' in row ? row.state : 'refused'));
}

const newId = (): string => `20260131-${systemRandom.bytes(3).toString('hex')}`;

describe('a host that was written off by an earlier payrun', () => {
  test.each([['1'], ['lost']])(
    'is a lost one still (the ledger says %s), and a file that Redis forgot is in doubt',
    async (how) => {
      await restart();
      await writeOff('anna');
      expect(await writeOff('bob')).toMatchObject({ result: 'done' });
      // As payrun wrote it before the commit "A lost host puts a forgotten file in doubt only for a week after its loss"; same layout 4.
      await server.redis.hset(`${desk.prefix}:head`, 'writtenOff:dir-b', how);
      const id = newId();
      await desk.ledger.recovery.restoreRun({
        id,
        fileSha256: id.repeat(8),
        contentHash: `c-${id}`,
        handedInAt: Date.now() - 60_000,
      });
      expect(await recordRows(desk.ledger, id, freshRows(1))).toBe('recorded');
      expect(await statesOf(id)).toEqual(['held']);
    },
  );
});
