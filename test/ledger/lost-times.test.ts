import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { openIntentLog } from '../../src/ledger/intents/intent-log.ts';
import type { PayoutPlace, PayoutRow } from '../../src/payout.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { othersOfReference } from '../../src/runs/decide/same-reference.ts';
import { useTestRedis } from '../support/redis.ts';
import { type Host, hostOf, joinSeason, joinTogether } from './recovery-desk.ts';
import {
  armPayout,
  freshRows,
  movePayout,
  newLedger,
  payingRun,
  readPayout,
  recordRows,
  rowOf,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const ROW: PayoutRow = rowOf(2, { reference: 'X' });
const FIRST = { runId: 'R1', line: 2 };
const SECOND = { runId: 'R2', line: 2 };

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;
let folder: string;
let host: Host;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
  folder = mkdtempSync(join(tmpdir(), 'payrun-test-'));
  host = hostOf(folder, desk.in('dir-a'), 'dir-a');
  await joinTogether([host]);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** What was sent in a time that Redis forgot. */
async function sentInLostTime({ runId, line }: PayoutPlace, armingCounter: number): Promise<void> {
  const log = openIntentLog(host.path, { clock: systemClock, random: systemRandom });
  await log.append({
    runId,
    line,
    fileSha256: runId.padStart(64, '0'),
    referenceHash: hashReference('X'),
    attempt: 1,
    quoteId: systemRandom.uuid(),
    quoteExpiresAt: null,
    bodyHash: 'body',
    armingCounter,
    owner: 'w1',
    armedAt: Date.now(),
    credentials: 'credentials-1',
  });
  await log.close();
}

/** Redis comes back without any of that, and the files of both runs are handed in again. */
async function comesBack(...places: readonly PayoutPlace[]): Promise<void> {
  await server.restart();
  await expect.poll(() => arming.ping().catch(() => 'lost')).toBe('PONG');
  expect(await joinSeason(host)).toEqual([]);
  for (const { runId } of places) {
    await recordRows(desk.ledger, runId, [ROW]);
    await desk.ledger.runs.note(runId, { state: 'paused' });
  }
  for (const person of ['anna', 'bob']) await releaseHalt({ ledger: desk.ledger }, person);
  for (const { runId } of places) await desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
}

async function isProvenDead(place: PayoutPlace): Promise<void> {
  expect(await movePayout(desk.ledger, place, { to: 'ready', dropQuote: 'proven-dead' })).toMatchObject({
    result: 'moved',
  });
}

async function allow(place: PayoutPlace): Promise<string> {
  const payout = await readPayout(desk.ledger, place);
  const { holders } = await othersOfReference(desk.ledger, payout);
  return (await movePayout(desk.ledger, place, { to: 'ready', sawHolders: holders })).result;
}

test.each([
  { counters: [5, 1], what: 'the first' },
  { counters: [1, 5], what: 'the second' },
  { counters: [3, 3], what: 'both' },
])(
  'a reference that was armed in two files in two lost times is paid in neither before people decide: $what had the higher counter',
  async ({ counters: [first = 0, second = 0] }) => {
    await sentInLostTime(FIRST, first);
    await sentInLostTime(SECOND, second);
    await comesBack(FIRST, SECOND);
    for (const place of [FIRST, SECOND]) {
      await isProvenDead(place);
      await expect(armPayout(host.ledger, place)).rejects.toThrow('reference');
      await movePayout(desk.ledger, place, { to: 'held' });
    }
    const other = await othersOfReference(desk.ledger, await readPayout(desk.ledger, FIRST));
    expect(other.holders).toEqual([{ id: 'R2-2', state: 'held' }]);
    expect(await allow(FIRST)).toBe('moved');
    expect(await allow(SECOND)).toBe('moved');
    await expect(armPayout(host.ledger, FIRST)).rejects.toThrow('reference');
    expect((await armPayout(host.ledger, SECOND)).state).toBe('armed');
  },
);

test('a row with such a reference is one too many, whichever of the two came to nothing', async () => {
  await sentInLostTime(FIRST, 5);
  await sentInLostTime(SECOND, 1);
  await comesBack(FIRST, SECOND);
  for (const settled of [FIRST, SECOND]) {
    await movePayout(desk.ledger, settled, { to: 'accepted', dueMs: 1000 });
    await movePayout(desk.ledger, settled, { to: 'failed' });
    const runId = await payingRun(desk.ledger, [ROW]);
    const { state } = await readPayout(desk.ledger, { runId, line: 2 });
    expect(state).toBe(settled === FIRST ? 'held' : 'ready');
  }
});

test('beside two others of its reference that may still be paid, a row is allowed only by people who saw both as they stand', async () => {
  const third = { runId: 'R3', line: 2 };
  for (const [index, place] of [FIRST, SECOND, third].entries()) await sentInLostTime(place, index + 1);
  await comesBack(FIRST, SECOND, third);
  await isProvenDead(third);
  await movePayout(desk.ledger, third, { to: 'held' });
  const { holders, words } = await othersOfReference(desk.ledger, await readPayout(desk.ledger, third));
  const seen = ['R2-2', 'R1-2'].map((id) => ({ id, state: 'unknown' }));
  expect(holders).toEqual(seen);
  for (const [index, { id }] of seen.entries())
    expect(words[index]).toMatch(`payout ${id} has the same reference and may`);
  for (const sawHolders of [[], seen.slice(0, 1), seen.slice(1)]) {
    expect((await movePayout(desk.ledger, third, { to: 'ready', sawHolders })).result).toBe('changed');
  }
  await movePayout(desk.ledger, FIRST, { to: 'accepted', dueMs: 1000 });
  expect((await movePayout(desk.ledger, third, { to: 'ready', sawHolders: seen })).result).toBe('changed');
  expect(await allow(third)).toBe('moved');
  await isProvenDead(SECOND);
  await expect(armPayout(host.ledger, SECOND)).rejects.toThrow('reference');
});

test('of more payouts with one reference than a reference can stand for none is armed', async () => {
  const places = Array.from({ length: 12 }, (_, index) => ({ runId: `R${index + 1}`, line: 2 }));
  for (const [index, place] of places.entries()) await sentInLostTime(place, index + 1);
  await comesBack(...places);
  for (const place of places) {
    await isProvenDead(place);
    await expect(armPayout(host.ledger, place)).rejects.toThrow('reference');
  }
});

test('a directory that knows of another one arms nothing in an open season that forgot it, before that one has compared', async () => {
  const other = hostOf(folder, desk.in('dir-b'), 'dir-b');
  await joinTogether([host, other]);
  const runId = await payingRun(desk.ledger, [ROW]);
  await desk.redis.del(desk.keys.dirs, `${desk.prefix}:peers`);
  expect((await desk.ledger.state.season()).open).toBe(true);
  expect(await joinSeason(host)).toEqual(['dir-b']);
  await expect(armPayout(host.ledger, { runId, line: 2 })).rejects.toThrow('season');
  expect(await joinSeason(other)).toEqual([]);
  expect(await joinSeason(host)).toEqual([]);
  expect((await armPayout(host.ledger, { runId, line: 2 })).state).toBe('armed');
});

test('an earlier arming of which nothing came gives its reference to the later file', async () => {
  const rows = freshRows(1);
  const runId = await payingRun(desk.ledger, [ROW, ...rows.map((row) => ({ ...row, line: 3 }))]);
  await armPayout(host.ledger, { runId, line: 2 });
  await movePayout(desk.ledger, { runId, line: 2 }, { to: 'rejected', values: { rejectionConfirmed: true } });
  await sentInLostTime(SECOND, 9);
  await comesBack(SECOND);
  await isProvenDead(SECOND);
  expect((await armPayout(host.ledger, SECOND)).state).toBe('armed');
});
