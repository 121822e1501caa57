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

describe('what two people settled as not paid after a write-off', () => {
  test.each([
    ['into an open season', false],
    ['while Redis is being restarted', true],
  ])('is not sent because the lost host comes back %s', async (_, isRestarted) => {
    const runId = await payingRun(desk.ledger, freshRows(3));
    const sent = await forgotten(() => only(armOn(host('dir-b'), runId, [2])));
    await writeOff('anna');
    await writeOff('bob');
    await releaseAndResume(runId);
    const held = await readPayout(desk.ledger, sent);
    expect(held).toMatchObject({ state: 'held', reasonCode: 'E_DIR_LOST', quoteId: null });
    // A day later two people settle it as not paid (src/runs/decide/decide.ts, notPaidMove).
    await movePayout(desk.ledger, sent, {
      to: 'cancelled',
      values: { reasonCode: 'E_NOT_PAID', reason: 'paid by hand', rejectionConfirmed: true },
    });
    // The host comes back with its disk, under a new id.
    if (isRestarted) {
      await server.restart();
      await awaitRedis();
    }
    const old = { ...hostOf(folder, desk.in('dir-d'), 'dir-d'), path: host('dir-b').path };
    await joinTogether([host('dir-a'), host('dir-c'), old]);
    expect((await desk.ledger.state.season()).open).toBe(true);
    const back = await readPayout(desk.ledger, sent);
    console.log('came back as', back.state, back.quoteId, back.reasonCode, back.givenUp);
    // Its request never reached the service: a look-up proves the quote dead.
    if (back.state === 'unknown') await movePayout(desk.ledger, sent, { to: 'ready', dropQuote: 'proven-dead' });
    await releaseAndResume(runId);
    // Two people gave it up, and nobody allowed it since.
    await expect(armOn(host('dir-a'), runId, [2])).rejects.toThrow(/not armed/);
  });

  test('what one person cancelled after two had allowed it is not sent because the lost host comes back', async () => {
    const runId = await payingRun(desk.ledger, freshRows(3));
    const sent = await forgotten(() => only(armOn(host('dir-b'), runId, [2])));
    await writeOff('anna');
    await writeOff('bob');
    await releaseAndResume(runId);
    await movePayout(desk.ledger, sent, { to: 'ready' });
    await movePayout(desk.ledger, sent, { to: 'cancelled' });
    const old = { ...hostOf(folder, desk.in('dir-d'), 'dir-d'), path: host('dir-b').path };
    await joinTogether([host('dir-a'), host('dir-c'), old]);
    const back = await readPayout(desk.ledger, sent);
    if (back.state === 'unknown') await movePayout(desk.ledger, sent, { to: 'ready', dropQuote: 'proven-dead' });
    await releaseAndResume(runId);
    await expect(armOn(host('dir-a'), runId, [2])).rejects.toThrow(/not armed/);
  });
});
