import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readEntry } from '../../src/audit/entry.ts';
import type { Payout } from '../../src/payout.ts';
import { cancelRun } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { type WrittenOff, writeOffDataDir } from '../../src/runs/safety/write-off.ts';
import { armOn, type Host, hostOf, joinSeason, joinTogether } from '../ledger/recovery-desk.ts';
import {
  allRows,
  claimRun,
  countersOf,
  freshRows,
  movePayout,
  newLedger,
  PATIENCE,
  payingRun,
  readPayout,
  recordRows,
  recount,
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
  // Three hosts arm; a is that of the people, b is the one that is lost.
  await joinTogether(['dir-a', 'dir-b', 'dir-c'].map(host));
});
afterEach(() => rmSync(folder, { recursive: true }));

function host(dataDirId: string): Host {
  return hostOf(folder, desk.in(dataDirId), dataDirId);
}

/** The host that was lost starts again: its directory has a new id, which the others note. */
async function comesBack(): Promise<readonly string[]> {
  const again = { ...hostOf(folder, desk.in('dir-d'), 'dir-d'), path: host('dir-b').path };
  await joinTogether([host('dir-a'), host('dir-c'), again]);
  return await joinSeason(again);
}

function writeOff(actor: string, dataDirId = 'dir-b'): Promise<WrittenOff> {
  return writeOffDataDir({ ledger: desk.ledger }, dataDirId, { actor, reason: 'it burnt down' });
}

/** Redis is restarted; the hosts that are left compare their logs. */
async function restart(left: readonly string[] = ['dir-a', 'dir-c']): Promise<void> {
  await server.restart();
  await awaitRedis();
  for (const dataDirId of left) await joinSeason(host(dataDirId));
}

/** Does something of which Redis knows nothing afterwards: it is ended, and started on the files from before. */
async function forgotten<Result>(act: () => Promise<Result>): Promise<Result> {
  const files = join(dirname(server.socket), 'appendonlydir');
  const copy = join(folder, 'copy');
  cpSync(files, copy, { recursive: true });
  const result = await act();
  const { pid } = server;
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => isRunning(pid), PATIENCE).toBe(false);
  rmSync(files, { recursive: true });
  cpSync(copy, files, { recursive: true });
  await restart();
  return result;
}

async function awaitRedis(): Promise<void> {
  await expect.poll(() => arming.ping().catch(() => 'lost'), PATIENCE).toBe('PONG');
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function statesOf(runId: string): Promise<string[]> {
  return (await allRows(desk.ledger, runId)).map((row) => ('row' in row ? row.state : 'refused'));
}

async function releaseAndResume(runId: string): Promise<void> {
  expect(await releaseHalt({ ledger: desk.ledger }, 'anna')).toBe('proposed');
  expect(await releaseHalt({ ledger: desk.ledger }, 'bob')).toBe('released');
  const { result } = await desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
  expect(result).toBe('moved');
}

async function actions(): Promise<string[]> {
  const found: string[] = [];
  for await (const text of desk.ledger.audit.lines()) found.push(readEntry(text)?.action ?? text);
  return found;
}

async function only(payouts: Promise<Payout[]>): Promise<Payout> {
  const [payout] = await payouts;
  if (payout === undefined) throw new Error('nothing was armed');
  return payout;
}

describe('rows that come only after the write-off', () => {
  test('are held, where their run was cancelled before they came: the lost host may have sent them', async () => {
    const rows = freshRows(2);
    const runId = await claimRun(desk.ledger, rows);
    await cancelRun({ ledger: desk.ledger, wake: async () => {} }, runId, { actor: 'anna', reason: 'wrong month' });
    await restart();
    await writeOff('anna');
    await writeOff('bob');
    await recordRows(desk.ledger, runId, rows);
    expect(await statesOf(runId)).toEqual(['held', 'held']);
  });

  test('are held, where their run is known again only after it', async () => {
    await restart();
    await writeOff('anna');
    await writeOff('bob');
    const rows = freshRows(1);
    const known = { id: 'R1', fileSha256: 'f'.repeat(64), contentHash: 'c'.repeat(64) };
    await desk.ledger.recovery.restoreRun(known);
    await recordRows(desk.ledger, 'R1', rows);
    expect(await statesOf('R1')).toEqual(['held']);
  });

  test('are held, where a payout gave their reference free before: the lost host may have paid a retry file', async () => {
    const rows = freshRows(1);
    const runId = await payingRun(desk.ledger, rows);
    await movePayout(desk.ledger, { runId, line: 2 }, { to: 'rejected' });
    await restart();
    await writeOff('anna');
    expect(await writeOff('bob')).toMatchObject({ result: 'done' });
    const others = freshRows(1).map((row) => ({ ...row, line: 3 }));
    const retried = await claimRun(desk.ledger, [...rows, ...others]);
    await recordRows(desk.ledger, retried, [...rows, ...others]);
    expect(await statesOf(retried)).toEqual(['held', 'ready']);
    expect(await readPayout(desk.ledger, { runId: retried, line: 2 })).toMatchObject({
      reasonCode: 'E_DIR_LOST',
      reason: `payout ${runId}-2 had its reference, and a data directory was written off that may have paid it again`,
    });
  });
});

test('a payout that is held meanwhile is not cancelled by a look at it that came before', async () => {
  const runId = await payingRun(desk.ledger, freshRows(1));
  const move = { runId, line: 2, actor: 'anna', reason: 'x' } as const;
  await desk.ledger.payouts.move({ ...move, to: 'held' });
  expect(await desk.ledger.payouts.move({ ...move, from: 'ready', to: 'cancelled' })).toMatchObject({
    result: 'changed',
  });
  expect(await statesOf(runId)).toEqual(['held']);
});

test('that a run is recorded is noted only on a Redis whose season is open', async () => {
  const runId = await claimRun(desk.ledger, freshRows(1));
  await restart([]);
  expect(await desk.ledger.runs.noteRecorded(runId, 'f', { lastLine: '2' })).toBe(false);
  expect((await desk.ledger.slices.position(runId)).lastLine).toBe(0);
});

describe('a data directory that two people write off', () => {
  test('leaves held whatever it may have sent, everything halted, all runs paused, and the season open', async () => {
    const runId = await payingRun(desk.ledger, freshRows(7));
    const rows = await armOn(host('dir-a'), runId, [2, 3, 4, 5, 6]);
    const [, quoted, unknown, accepted, rejected] = rows;
    for (const [payout, to] of [
      [quoted, 'quoted'],
      [unknown, 'unknown'],
      [accepted, 'accepted'],
      [rejected, 'rejected'],
    ] as const) {
      if (payout !== undefined) await movePayout(desk.ledger, payout, { to, dueMs: 60_000 });
    }
    await restart();
    expect((await desk.ledger.state.season()).missing).toEqual(['dir-b']);
    expect(await writeOff('anna')).toEqual({ result: 'proposed', held: 0, missing: [] });
    expect(await statesOf(runId)).toContain('ready');
    expect(await writeOff('bob')).toEqual({ result: 'done', held: 5, missing: [] });

    expect(await statesOf(runId)).toEqual(['held', 'held', 'held', 'accepted', 'rejected', 'held', 'held']);
    expect(await readPayout(desk.ledger, { runId, line: 8 })).toMatchObject({
      reasonCode: 'E_DIR_LOST',
      quoteId: null,
    });
    expect(await countersOf(desk.ledger, runId)).toEqual(await recount(desk.ledger, runId));
    expect((await desk.ledger.state.read()).halt).toContain('dir-b was written off');
    expect((await desk.ledger.runs.read(runId))?.state).toBe('paused');
    expect(await desk.ledger.state.season()).toMatchObject({ open: true, missing: [] });
    expect(await actions()).toEqual(['ledger.made', 'data-dir.write-off-proposed', 'data-dir.written-off']);
    // What is known to have been sent is looked up at once.
    const due = await desk.ledger.slices.takeDue({ look: 100, track: 0 });
    const lines = due.filter((payout) => payout.runId === runId).map((payout) => payout.line);
    expect(new Set(lines)).toEqual(new Set([2, 3, 4]));
  });

  test('holds what is unknown here too: its quote may be dead, and another one sent from there', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    await armOn(host('dir-a'), runId, [2]);
    await movePayout(desk.ledger, place, { to: 'unknown' });
    await forgotten(async () => {
      await movePayout(desk.ledger, place, { to: 'ready', dropQuote: 'proven-dead' });
      await armOn(host('dir-b'), runId, [2]);
    });
    expect((await readPayout(desk.ledger, place)).state).toBe('unknown');
    await writeOff('anna');
    await writeOff('bob');
    const dead = await movePayout(desk.ledger, place, { to: 'ready', dropQuote: 'proven-dead' });
    expect([dead.result, dead.state]).toEqual(['forbidden', 'held']);
  });

  test('doubts what is held here and was never sent: people may have allowed it since, and it was sent from there', async () => {
    const runId = await payingRun(desk.ledger, freshRows(2));
    const held = { runId, line: 2 };
    await movePayout(desk.ledger, held, { to: 'held', values: { reasonCode: 'E_LIMIT', reason: 'above the limit' } });
    await forgotten(async () => {
      await movePayout(desk.ledger, held, { to: 'ready' });
      await armOn(host('dir-b'), runId, [2]);
    });
    expect(await readPayout(desk.ledger, held)).toMatchObject({ state: 'held', reasonCode: 'E_LIMIT', quoteId: null });
    await writeOff('anna');
    expect(await writeOff('bob')).toEqual({ result: 'done', held: 2, missing: [] });
    expect(await readPayout(desk.ledger, held)).toMatchObject({
      state: 'held',
      reasonCode: 'E_DIR_LOST',
      quoteId: null,
    });
  });

  test('doubts what people cancelled since the restart: nothing is given up before it is known who sent it', async () => {
    const runId = await payingRun(desk.ledger, freshRows(3));
    const held = { runId, line: 4 };
    await movePayout(desk.ledger, held, { to: 'held', values: { reasonCode: 'E_LIMIT', reason: 'above the limit' } });
    await restart();
    await cancelRun({ ledger: desk.ledger, wake: async () => {} }, runId, { actor: 'anna', reason: 'wrong month' });
    for (const move of [
      { line: 2, to: 'rejected' },
      { line: 3, to: 'cancelled' },
      { line: 4, to: 'cancelled' },
    ] as const) {
      expect((await movePayout(desk.ledger, { runId, line: move.line }, { to: move.to })).result).toBe('season');
    }
    await writeOff('anna');
    expect(await writeOff('bob')).toMatchObject({ result: 'done', held: 3 });
    expect(await statesOf(runId)).toEqual(['held', 'held', 'held']);
  });

  test('voids what was proposed before, on the words that it was never sent', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const held = { runId, line: 2 };
    await movePayout(desk.ledger, held, {
      to: 'held',
      values: { reasonCode: 'E_DUP_LIKELY', reason: 'another one is alike' },
    });
    await forgotten(async () => {
      await movePayout(desk.ledger, held, { to: 'ready' });
      await armOn(host('dir-b'), runId, [2]);
    });
    const said = { decision: 'allow', by: 'anna', at: 1, paymentId: '', reason: 'no twin', seen: '' } as const;
    await movePayout(desk.ledger, held, {
      values: {
        proposal: { proposal: said, seal: desk.ledger.seals.proposal(await readPayout(desk.ledger, held), said) },
      },
      dueMs: 'as-it-is',
    });
    await writeOff('anna');
    await writeOff('bob');
    expect(await readPayout(desk.ledger, held)).toMatchObject({ reasonCode: 'E_DIR_LOST', proposal: null });
  });

  test('asks for each quote of a directory that comes back after all', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    const quotes: string[] = [];
    await forgotten(async () => {
      for (const again of [false, true]) {
        if (again) await movePayout(desk.ledger, place, { to: 'unknown' });
        if (again) await movePayout(desk.ledger, place, { to: 'ready', dropQuote: 'proven-dead' });
        quotes.push((await only(armOn(host('dir-b'), runId, [2]))).quoteId ?? '');
      }
    });
    await writeOff('anna');
    await writeOff('bob');
    await comesBack();
    const payout = await readPayout(desk.ledger, place);
    const dead = (await desk.ledger.runs.formerQuotes(runId)).map(({ quoteId }) => quoteId);
    expect([payout.state, payout.quoteId, dead]).toEqual(['held', quotes[1], [quotes[0]]]);
  });

  test('holds rows of a run that is still being recorded, those that come later too', async () => {
    const rows = freshRows(3);
    const runId = await claimRun(desk.ledger, rows);
    await recordRows(desk.ledger, runId, rows.slice(0, 1));
    await restart();
    await writeOff('anna');
    expect(await writeOff('bob')).toMatchObject({ result: 'done', held: 1 });
    expect(await recordRows(desk.ledger, runId, rows)).toBe('recorded');
    expect(await statesOf(runId)).toEqual(['held', 'held', 'held']);
  });

  test('is not waited for again by those that had noted it', async () => {
    await restart();
    await writeOff('anna');
    await writeOff('bob');
    await restart();
    expect(await desk.ledger.state.season()).toMatchObject({ open: true });
    expect(new Set((await desk.ledger.state.season()).dataDirIds)).toEqual(new Set(['dir-a', 'dir-c']));
  });

  test('arms nothing under its former id: those that noted it do not wait for that one any more', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    await restart();
    await writeOff('anna');
    await writeOff('bob');
    await releaseAndResume(runId);
    expect(await joinSeason(host('dir-b'))).toEqual(['dir-b']);
    expect((await desk.ledger.state.season()).dataDirIds).not.toContain('dir-b');
    await expect(armOn(host('dir-b'), runId, [2])).rejects.toThrow('season');
  });

  test('that comes back after all: what it sent is known then, stays held and is looked up, and everything is halted', async () => {
    const runId = await payingRun(desk.ledger, freshRows(2));
    const sent = await forgotten(() => only(armOn(host('dir-b'), runId, [2])));
    await writeOff('anna');
    await writeOff('bob');
    await releaseAndResume(runId);
    expect(await comesBack()).toEqual([]);
    expect(await readPayout(desk.ledger, sent)).toMatchObject({ state: 'held', quoteId: sent.quoteId });
    expect((await desk.ledger.slices.takeDue({ look: 10, track: 10 })).map(({ line }) => line)).toContain(2);
    expect((await desk.ledger.state.read()).halt).not.toBeNull();
  });

  test.each([
    { what: 'with a counter above that of the later arming', armedBefore: [3] },
    { what: 'with the very counter of the later arming', armedBefore: [] },
  ])(
    'that comes back after what it sent was allowed and sent again, $what: a breach, and everything is halted',
    async ({ armedBefore }) => {
      const runId = await payingRun(desk.ledger, freshRows(3));
      const sent = await forgotten(async () => {
        await armOn(host('dir-b'), runId, armedBefore);
        return await only(armOn(host('dir-b'), runId, [2]));
      });
      await writeOff('anna');
      await writeOff('bob');
      await releaseAndResume(runId);
      await movePayout(desk.ledger, sent, { to: 'ready' });
      const again = await only(armOn(host('dir-a'), runId, [2]));
      expect(again.quoteId).not.toBe(sent.quoteId);
      expect(await comesBack()).toEqual([]);
      expect(await readPayout(desk.ledger, sent)).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
      expect((await desk.ledger.state.read()).halt).not.toBeNull();
    },
  );
});

describe('writing off', () => {
  test('waits for directories that may still compare, for what they restore would not be held', async () => {
    const runId = await payingRun(desk.ledger, freshRows(2));
    await restart(['dir-a']);
    await writeOff('anna');
    expect(await writeOff('bob')).toEqual({ result: 'agreed', held: 0, missing: ['dir-c'] });
    expect(await statesOf(runId)).toEqual(['ready', 'ready']);
    expect(await joinSeason(host('dir-c'))).toEqual(['dir-b']);
    // Two people have agreed: anybody may carry it out.
    expect(await writeOff('anna')).toEqual({ result: 'done', held: 2, missing: [] });
    expect((await desk.ledger.state.season()).open).toBe(true);
  });

  test('of two directories is done when two people have agreed on both', async () => {
    const runId = await payingRun(desk.ledger, freshRows(2));
    await restart(['dir-a']);
    await writeOff('anna');
    await writeOff('anna', 'dir-c');
    expect(await writeOff('bob')).toEqual({ result: 'agreed', held: 0, missing: ['dir-c'] });
    expect(await writeOff('bob', 'dir-c')).toEqual({ result: 'done', held: 2, missing: [] });
    expect(await statesOf(runId)).toEqual(['held', 'held']);
    expect(await desk.ledger.state.season()).toMatchObject({ open: true, dataDirIds: ['dir-a'] });
  });

  test('asks nothing more of the lost directory: one that it had not noted yet compares once two people have agreed', async () => {
    await desk.ledger.state.enterDir('dir-d');
    await restart();
    expect(await joinSeason(host('dir-d'))).toEqual(['dir-b']);
    await writeOff('anna');
    expect(await writeOff('bob')).toEqual({ result: 'agreed', held: 0, missing: ['dir-d'] });
    expect(await joinSeason(host('dir-d'))).toEqual(['dir-b']);
    expect(await writeOff('anna')).toMatchObject({ result: 'done', missing: [] });
    const season = await desk.ledger.state.season();
    expect(season).toMatchObject({ open: true });
    expect(season.dataDirIds.toSorted()).toEqual(['dir-a', 'dir-c', 'dir-d']);
  });

  test('that was agreed on and came to nothing, because the directory is back, lets nobody join whom that one has not noted', async () => {
    await restart(['dir-a']);
    await writeOff('anna');
    expect(await writeOff('bob')).toMatchObject({ result: 'agreed' });
    for (const dataDirId of ['dir-c', 'dir-b']) await joinSeason(host(dataDirId));
    expect(await desk.ledger.state.season()).toMatchObject({ open: true });
    expect(await joinSeason(host('dir-e'))).toContain('dir-b');
  });

  test.each(['begun', 'held some', 'held all'])('is carried on after a crash when it had %s', async (how) => {
    const runId = await payingRun(desk.ledger, freshRows(4));
    await restart();
    await writeOff('anna');
    expect((await desk.ledger.recovery.writeOff('dir-b', 'bob')).result).toBe('begun');
    const lines = { begun: [], 'held some': [2, 3], 'held all': [2, 3, 4, 5] }[how] ?? [];
    for (const line of lines) {
      await movePayout(
        desk.ledger,
        { runId, line },
        { to: 'held', values: { reasonCode: 'E_DIR_LOST', reason: 'written off' } },
      );
    }
    expect((await desk.ledger.state.season()).open).toBe(false);
    expect(await writeOff('bob')).toEqual({ result: 'done', held: 4 - lines.length, missing: [] });
    expect(await statesOf(runId)).toEqual(['held', 'held', 'held', 'held']);
    expect(await actions()).toContain('data-dir.written-off');
    expect((await desk.ledger.state.season()).open).toBe(true);
  });

  test('is refused to one person, whatever the letters, also at the same moment', async () => {
    await restart();
    await writeOff('anna');
    await expect(writeOff('anna')).rejects.toThrow('anna has proposed this');
    await expect(writeOff(' ANNA')).rejects.toThrow('anna has proposed this');
    await restart();
    const both = await Promise.allSettled([writeOff('carol'), writeOff('Carol')]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  test('in an open season only ends that a directory is waited for: nothing of it is in doubt', async () => {
    expect(await writeOff('anna')).toMatchObject({ result: 'proposed' });
    expect(await writeOff('bob')).toMatchObject({ result: 'retired', held: 0 });
    expect((await desk.ledger.state.read()).halt).toBeNull();
    expect((await desk.ledger.state.season()).dataDirIds).not.toContain('dir-b');
    expect((await actions()).at(-1)).toBe('data-dir.retired');
  });

  test('is refused for a directory that compared or that nobody knows', async () => {
    await restart();
    await expect(writeOff('anna', 'dir-a')).rejects.toThrow('has compared its intent logs');
    await expect(writeOff('anna', 'dir-x')).rejects.toThrow('no directory of that id');
    expect(await actions()).toEqual([]);
  });

  test('is proposed anew after another restart of Redis: an old proposal counts for nothing', async () => {
    await restart();
    await writeOff('anna');
    await restart();
    expect(await writeOff('bob')).toMatchObject({ result: 'proposed' });
    expect(await writeOff('anna')).toMatchObject({ result: 'done' });
  });
});
