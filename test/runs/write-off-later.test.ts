import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { ensureSeason } from '../../src/ledger/season/season.ts';
import { silentLog } from '../../src/log.ts';
import { writeOffDataDir } from '../../src/runs/safety/write-off.ts';
import { armOn, type Host, hostOf, joinSeason, joinTogether } from '../ledger/recovery-desk.ts';
import {
  allRows,
  armPayout,
  claimRun,
  copyLedger,
  freshRows,
  movePayout,
  newLedger,
  PATIENCE,
  payingRun,
  REMEMBER_MS,
  readPayout,
  recordRows,
  type TestLedger,
  useArming,
} from '../ledger/test-ledger.ts';
import { useTestRedis } from '../support/redis.ts';

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;
let folder: string;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
  folder = mkdtempSync(join(tmpdir(), 'payrun-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const host = (dataDirId: string): Host => hostOf(folder, desk.in(dataDirId), dataDirId);
const writeOff = async (actor: string) =>
  await writeOffDataDir({ ledger: desk.ledger }, 'dir-b', { actor, reason: 'it burnt down' });

async function restartWithout(lost: 'dir-b'): Promise<void> {
  await server.restart();
  await expect.poll(() => arming.ping().catch(() => 'lost'), PATIENCE).toBe('PONG');
  expect(await joinSeason(host('dir-a'))).toEqual([lost]);
}

async function statesOf(runId: string): Promise<string[]> {
  return (await allRows(desk.ledger, runId)).map((row) => ('row' in row ? row.state : 'refused'));
}

describe('a reference that comes free only after the write-off', () => {
  // In the copy the payment is under way, or done. It failed (or came back) after the copy; the lost host paid the retry file.
  test.each([['failed'], ['returned']] as const)(
    'is not paid again unseen where its payment had %s before: the lost host may have paid a retry file',
    async (end) => {
      await joinTogether(['dir-a', 'dir-b'].map(host));
      const rows = freshRows(1);
      const runId = await payingRun(desk.ledger, rows);
      const place = { runId, line: 2 };
      await armPayout(desk.in('dir-a'), place);
      await movePayout(desk.ledger, place, { to: 'accepted', dueMs: 1000 });
      if (end === 'returned') await movePayout(desk.ledger, place, { to: 'completed' });
      // Redis is put back to this; what dir-b did since is in nobody's log.
      await restartWithout('dir-b');
      await writeOff('anna');
      expect(await writeOff('bob')).toMatchObject({ result: 'done', missing: [] });
      await new Promise((resolve) => setTimeout(resolve, 20));
      // A worker follows the payment, and learns only now what the service has known for long.
      expect(await movePayout(desk.ledger, place, { to: end })).toMatchObject({ result: 'moved' });
      const retried = await claimRun(desk.ledger, rows);
      await recordRows(desk.ledger, retried, rows);
      expect(await statesOf(retried)).toEqual(['held']);
    },
  );

  test('nor where the clock of Redis stepped back between its end and the write-off', async () => {
    await joinTogether(['dir-a', 'dir-b'].map(host));
    const rows = freshRows(1);
    const runId = await payingRun(desk.ledger, rows);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'rejected' });
    await restartWithout('dir-b');
    await writeOff('anna');
    expect(await writeOff('bob')).toMatchObject({ result: 'done', missing: [] });
    // As if the clock had stepped back by an hour before the write-off.
    await desk.redis.hincrby(desk.keys.head, 'lostAt', -3_600_000);
    const retried = await claimRun(desk.ledger, rows);
    await recordRows(desk.ledger, retried, rows);
    expect(await statesOf(retried)).toEqual(['held']);
  });
});

test('a row that would be held for the lost host is foreseen to be held', async () => {
  await joinTogether(['dir-a', 'dir-b'].map(host));
  const rows = freshRows(1);
  const runId = await payingRun(desk.ledger, rows);
  await movePayout(desk.ledger, { runId, line: 2 }, { to: 'rejected' });
  await restartWithout('dir-b');
  for (const actor of ['anna', 'bob']) await writeOff(actor);
  const ahead = rows.map((row) => ({
    referenceHash: hashReference(row.reference),
    beneficiaryIdentityId: row.beneficiaryIdentityId,
  }));
  const foreseen = await desk.ledger.foresight.against(ahead, REMEMBER_MS);
  const retried = await claimRun(desk.ledger, rows);
  await recordRows(desk.ledger, retried, rows);
  const becomes = await statesOf(retried);
  expect(becomes).toEqual(['held']);
  expect(foreseen).not.toEqual([{ holder: null, twin: null, isBlocked: false }]);
});

/** A copy from before the first worker; dir-b pays a row after it; a hand-in from elsewhere opens the season of the copy. */
async function forgottenByOpenSeason(): Promise<string> {
  const rows = freshRows(1);
  const runId = await payingRun(desk.ledger, rows);
  await desk.redis.del(desk.keys.dirs, `${desk.prefix}:peers`);
  const putBack = await copyLedger(desk.redis, desk.prefix);
  await joinTogether(['dir-a', 'dir-b'].map(host));
  await armOn(host('dir-b'), runId, [2]);
  await putBack();
  await server.restart();
  await expect.poll(() => arming.ping().catch(() => 'lost'), PATIENCE).toBe('PONG');
  // Somebody hands in a file on a host without a worker.
  const season = { state: desk.ledger.state, dataDir: join(folder, 'dir-c'), dataDirId: 'dir-c', armDeadlineMs: 20 };
  const others = { arms: false, compareDecisions: async () => {}, clock: systemClock, log: silentLog };
  expect(await ensureSeason({ ...season, ...others })).toEqual([]);
  expect(await readPayout(desk.ledger, { runId, line: 2 })).toMatchObject({ state: 'ready' });
  expect((await desk.ledger.state.season()).open).toBe(true);
  return runId;
}

describe('a directory that an open season forgot', () => {
  test('and that is written off leaves in doubt what it may have sent', async () => {
    const runId = await forgottenByOpenSeason();
    expect(await joinSeason(host('dir-a'))).toEqual(['dir-b']);
    // The host of dir-b is lost: nothing else lets dir-a go on.
    await writeOff('anna');
    const { result } = await writeOff('bob');
    expect(await joinSeason(host('dir-a'))).toEqual([]);
    const again = await armPayout(desk.in('dir-a'), { runId, line: 2 }).then(
      () => 'armed a second time',
      () => 'not armed',
    );
    expect({ result, again }).toEqual({ result: 'done', again: 'not armed' });
  });

  test('is waited for, although it has just started too and is about to compare', async () => {
    const runId = await forgottenByOpenSeason();
    // Both workers are started at once: dir-b has entered, and waits out the arm deadlines (or dies there).
    expect(await desk.in('dir-b').state.enterDir('dir-b', true)).toBe(true);
    expect(await joinSeason(host('dir-a'))).toEqual(['dir-b']);
    await expect(armPayout(desk.in('dir-a'), { runId, line: 2 })).rejects.toThrow('season');
  });
});

test('a directory that came back is not written off by one person alone, by what two agreed on before', async () => {
  await joinTogether(['dir-a', 'dir-b'].map(host));
  await server.restart();
  await expect.poll(() => arming.ping().catch(() => 'lost'), PATIENCE).toBe('PONG');
  await writeOff('anna');
  // dir-a has yet to compare.
  expect(await writeOff('bob')).toMatchObject({ result: 'agreed' });
  // Both come back, and all goes on for weeks.
  expect(await joinSeason(host('dir-a'))).toEqual(['dir-b']);
  expect(await joinSeason(host('dir-b'))).toEqual([]);
  // An arming counter closes the season of the same server.
  await desk.redis.hset(desk.keys.head, 'armings', -1);
  expect((await desk.ledger.state.season()).open).toBe(false);
  expect(await joinSeason(host('dir-a'))).toEqual(['dir-b']);
  expect(await writeOff('carl')).toMatchObject({ result: 'proposed' });
});
