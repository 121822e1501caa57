import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import type { IntentLine } from '../../src/ledger/intents/intent-line.ts';
import { highestCounter, openIntentLog } from '../../src/ledger/intents/intent-log.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { ensureSeason, refreshSeason } from '../../src/ledger/season/season.ts';
import { silentLog } from '../../src/log.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import type { Payout } from '../../src/payout.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { type Submitted, submitRun } from '../../src/runs/hand-in/submit.ts';
import type { IdentityBook } from '../../src/runs/identities.ts';
import { file, line } from '../intake/payout-text.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  allRows,
  armPayout,
  claimRun,
  countersOf,
  enterDir,
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
} from './test-ledger.ts';

const DEADLINE_MS = 20;
const CONFIG = { rememberMs: 24 * 60 * 60 * 1000 };

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;
let folder: string;
let copy: string;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
  folder = mkdtempSync(join(tmpdir(), 'payrun-test-'));
  copy = join(folder, 'copy');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Copies Redis's files. Nothing is being written, and what was acknowledged is in them (`appendfsync always`). */
function takeCopy(): void {
  cpSync(join(dirname(server.socket), 'appendonlydir'), copy, { recursive: true });
}

/** Ends Redis as a crash does, puts the copy in the place of its files and starts it again. */
async function restoreCopy(): Promise<void> {
  const { pid } = server;
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => isRunning(pid), PATIENCE).toBe(false);
  const files = join(dirname(server.socket), 'appendonlydir');
  rmSync(files, { recursive: true });
  cpSync(copy, files, { recursive: true });
  await server.restart();
  await expect.poll(() => arming.ping().catch(() => 'lost'), PATIENCE).toBe('PONG');
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function seasonOf(dataDirId = 'dir-a'): Promise<readonly string[]> {
  return ensureSeason(seasonDeps(dataDirId));
}

function seasonDeps(dataDirId: string): Parameters<typeof ensureSeason>[0] {
  const dataDir = join(folder, dataDirId);
  const { state: head } = desk.ledger;
  return {
    state: head,
    dataDir,
    dataDirId,
    armDeadlineMs: DEADLINE_MS,
    compareDecisions: async () => {},
    arms: true,
    clock: systemClock,
    log: silentLog,
  };
}

/** Arms payouts and writes their intent lines, as a worker of that data directory does. */
async function armWithLines(runId: string, lines: readonly number[], dataDirId = 'dir-a'): Promise<Payout[]> {
  const log = openIntentLog(join(folder, dataDirId), { clock: systemClock, random: systemRandom });
  const armed: Payout[] = [];
  await enterDir(desk.ledger, dataDirId);
  for (const at of lines) {
    const payout = await armPayout(desk.in(dataDirId), { runId, line: at });
    armed.push(payout);
    await log.append(lineOf(payout, (await desk.ledger.runs.read(runId))?.fileSha256 ?? ''));
  }
  await log.close();
  return armed;
}

function lineOf(payout: Payout, fileSha256: string): IntentLine {
  return {
    runId: payout.runId,
    line: payout.line,
    fileSha256,
    referenceHash: hashReference(payout.row.reference),
    attempt: payout.attempts,
    quoteId: payout.quoteId ?? '',
    quoteExpiresAt: payout.quoteExpiresAt,
    bodyHash: 'body',
    armingCounter: payout.armingCounter,
    owner: payout.armedBy ?? '',
    armedAt: payout.armedAt ?? 0,
    credentials: payout.credentials ?? '',
  };
}

async function releaseByTwo(ledger: Ledger): Promise<void> {
  expect(await releaseHalt({ ledger }, 'anna')).toBe('proposed');
  expect(await releaseHalt({ ledger }, 'ben')).toBe('released');
}

function submit(text: string, identities?: IdentityBook, skipInvalid = false): Promise<Submitted> {
  const path = join(folder, `payouts-${systemRandom.uuid()}.csv`);
  writeFileSync(path, text);
  const deps = {
    ledger: desk.ledger,
    clock: systemClock,
    random: systemRandom,
    at: noCrash,
    config: CONFIG,
    wake: async () => {},
    ensureSeason: () => seasonOf(),
    identities,
  };
  return submitRun(deps, { path, actor: 'anna', skipInvalid });
}

async function submittedRun(text: string): Promise<{ id: string; isNew: boolean; state: string }> {
  const submitted = await submit(text);
  if (submitted.kind !== 'submitted') throw new Error('the file was refused');
  return { id: submitted.run.id, state: submitted.run.state, isNew: submitted.isNew };
}

/** Payouts of a reference that a worker would pay, in any run. */
async function payable(reference: string): Promise<string[]> {
  const found: string[] = [];
  for (const runId of await desk.ledger.runs.list()) {
    for (const row of await allRows(desk.ledger, runId)) {
      if ('row' in row && row.row.reference === reference && row.state === 'ready') found.push(`${runId}-${row.line}`);
    }
  }
  return found;
}

const FILE = file(...['r-1', 'r-2', 'r-3'].map((reference) => line({ reference })));

describe('a Redis that was restored from an older copy', () => {
  test('gets back as unknown what it lost, with its quotes, counters and attempts', async () => {
    const runId = await payingRun(desk.ledger, freshRows(5));
    await armWithLines(runId, [2]);
    takeCopy();
    const lost = await armWithLines(runId, [3, 4]);
    await restoreCopy();
    expect(await readPayout(desk.ledger, { runId, line: 3 })).toMatchObject({ state: 'ready', quoteId: null });
    expect(await seasonOf()).toEqual([]);
    for (const before of lost) {
      const { version, armings, history, ...kept } = before;
      expect(await readPayout(desk.ledger, before)).toMatchObject({ ...kept, state: 'unknown' });
      expect([version, armings, history.length]).toEqual([2, 1, 2]);
    }
    expect(await countersOf(desk.ledger, runId)).toEqual(await recount(desk.ledger, runId));
    expect((await desk.ledger.state.read()).armings).toBe(lost.at(-1)?.armingCounter);
    const due = await desk.ledger.slices.takeDue({ look: 10, track: 10 });
    expect(due.filter((payout) => payout.runId === runId).map((payout) => payout.line)).toEqual([3, 4]);
  });

  test('leaves alone what it still knows: lines at or below its counters', async () => {
    const runId = await payingRun(desk.ledger, freshRows(5));
    const [armed, paid, again] = await armWithLines(runId, [2, 3, 4]);
    if (armed === undefined || paid === undefined || again === undefined) throw new Error('not armed');
    await movePayout(desk.ledger, paid, { to: 'accepted' });
    await movePayout(desk.ledger, again, { to: 'unknown' });
    await movePayout(desk.ledger, again, { to: 'ready', dropQuote: 'proven-dead' });
    const before = await allRows(desk.ledger, runId);
    takeCopy();
    await restoreCopy();
    expect(await seasonOf()).toEqual([]);
    expect(await allRows(desk.ledger, runId)).toEqual(before);
    expect(await desk.ledger.state.read()).toMatchObject({ halt: null, armings: 3 });
    expect((await desk.ledger.runs.read(runId))?.state).toBe('paying');
  });

  test('is halted, its runs are paused, and only two people let them go on', async () => {
    const runId = await payingRun(desk.ledger, freshRows(3));
    const idle = await payingRun(desk.ledger, freshRows(1));
    takeCopy();
    await armWithLines(runId, [2]);
    await restoreCopy();
    await seasonOf();
    expect((await desk.ledger.state.read()).halt).toContain('1 payouts');
    for (const id of [runId, idle]) expect((await desk.ledger.runs.read(id))?.state).toBe('paused');
    await expect(armPayout(desk.ledger, { runId, line: 3 })).rejects.toThrow('halted');
    const move = { to: 'paying', actor: 'anna', reason: '' } as const;
    expect((await desk.ledger.runs.move(runId, move)).result).toBe('halted');
    await releaseByTwo(desk.ledger);
    expect((await desk.ledger.runs.move(runId, move)).result).toBe('moved');
    await armPayout(desk.ledger, { runId, line: 3 });
  });

  test('shows in each run that it was changed, so that no earlier report passes for the newest', async () => {
    const runId = await payingRun(desk.ledger, freshRows(3));
    const idle = await payingRun(desk.ledger, freshRows(1));
    takeCopy();
    const { changes } = (await desk.ledger.runs.read(idle)) ?? { changes: 0 };
    await armWithLines(runId, [2]);
    await restoreCopy();
    await seasonOf();
    expect((await desk.ledger.runs.read(idle))?.changes).toBeGreaterThan(changes);
  });

  test('never lets another payout have a quote that it lost', async () => {
    const runId = await payingRun(desk.ledger, freshRows(3));
    takeCopy();
    const [lost] = await armWithLines(runId, [2]);
    await restoreCopy();
    await seasonOf();
    await releaseByTwo(desk.ledger);
    await desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
    const taken = armPayout(desk.ledger, { runId, line: 3 }, { quoteId: lost?.quoteId ?? '' });
    await expect(taken).rejects.toThrow('quote-taken');
  });

  test('takes the latest of several lost attempts of a payout', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    takeCopy();
    await armWithLines(runId, [2]);
    await movePayout(desk.ledger, place, { to: 'unknown' });
    await movePayout(desk.ledger, place, { to: 'ready', dropQuote: 'proven-dead' });
    const [second] = await armWithLines(runId, [2]);
    await restoreCopy();
    await seasonOf();
    const { state, quoteId, attempts, quotes, armingCounter } = await readPayout(desk.ledger, place);
    expect([state, quoteId, attempts, quotes, armingCounter]).toEqual([
      'unknown',
      second?.quoteId,
      2,
      2,
      second?.armingCounter,
    ]);
  });

  test('has a lost quote looked up with those proven dead when a later one of its payout came back before it', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    await enterDir(desk.ledger, 'dir-a');
    await enterDir(desk.ledger, 'dir-b');
    takeCopy();
    const [first] = await armWithLines(runId, [2], 'dir-b');
    await movePayout(desk.ledger, place, { to: 'unknown' });
    await movePayout(desk.ledger, place, { to: 'ready', dropQuote: 'proven-dead' });
    const [second] = await armWithLines(runId, [2], 'dir-a');
    await restoreCopy();
    expect(await seasonOf('dir-a')).toEqual(['dir-b']);
    expect(await seasonOf('dir-b')).toEqual([]);
    expect((await readPayout(desk.ledger, place)).quoteId).toBe(second?.quoteId);
    expect(await desk.ledger.runs.formerQuotes(runId)).toEqual([
      { line: 2, quoteId: first?.quoteId, isProvenDead: false },
    ]);
  });

  test('counts a quote once although its second arming was lost', async () => {
    const runId = await payingRun(desk.ledger, freshRows(1));
    const place = { runId, line: 2 };
    await armWithLines(runId, [2]);
    await movePayout(desk.ledger, place, { to: 'quoted', dueMs: 0 });
    takeCopy();
    await armWithLines(runId, [2]);
    await restoreCopy();
    await seasonOf();
    expect(await readPayout(desk.ledger, place)).toMatchObject({ state: 'unknown', quotes: 1, attempts: 2 });
  });

  test('waits for each directory that armed, and restores the lines of all before it opens', async () => {
    const runId = await payingRun(desk.ledger, freshRows(5));
    await armWithLines(runId, [2], 'dir-a');
    await armWithLines(runId, [3], 'dir-b');
    takeCopy();
    await armWithLines(runId, [4], 'dir-b');
    await restoreCopy();
    expect(await seasonOf('dir-a')).toEqual(['dir-b']);
    await expect(armPayout(desk.ledger, { runId, line: 5 })).rejects.toThrow('season');
    expect(await seasonOf('dir-b')).toEqual([]);
    expect((await readPayout(desk.ledger, { runId, line: 4 })).state).toBe('unknown');
    expect((await desk.ledger.state.read()).halt).not.toBeNull();
  });

  test('waits also for a directory whose first arming it lost', async () => {
    const runId = await payingRun(desk.ledger, freshRows(5));
    await enterDir(desk.ledger, 'dir-b');
    await armWithLines(runId, [2], 'dir-a');
    takeCopy();
    await armWithLines(runId, [3], 'dir-b');
    await restoreCopy();
    expect(await seasonOf('dir-a')).toEqual(['dir-b']);
    await expect(armPayout(desk.ledger, { runId, line: 3 })).rejects.toThrow('season');
    expect(await seasonOf('dir-b')).toEqual([]);
    expect((await readPayout(desk.ledger, { runId, line: 3 })).state).toBe('unknown');
  });

  test('is told of a directory that it forgot by those that noted it, and opens no season without it', async () => {
    const runId = await payingRun(desk.ledger, freshRows(5));
    expect(await seasonOf('dir-a')).toEqual([]);
    takeCopy();
    const joins = seasonOf('dir-b');
    await expect
      .poll(async () => {
        await refreshSeason(seasonDeps('dir-a'), () => seasonOf('dir-a'));
        return (await desk.ledger.state.season()).missing;
      }, PATIENCE)
      .toEqual([]);
    expect(await joins).toEqual([]);
    await armWithLines(runId, [3], 'dir-b');
    await restoreCopy();
    expect((await desk.ledger.state.season()).dataDirIds).not.toContain('dir-b');
    expect(await seasonOf('dir-a')).toEqual(['dir-b']);
    await expect(armPayout(desk.in('dir-a'), { runId, line: 3 })).rejects.toThrow('season');
    expect(await seasonOf('dir-b')).toEqual([]);
    expect((await readPayout(desk.ledger, { runId, line: 3 })).state).toBe('unknown');
  });

  test('restores the lines of a directory that it forgot altogether as soon as that comes back', async () => {
    const runId = await payingRun(desk.ledger, freshRows(5));
    takeCopy();
    await armWithLines(runId, [3], 'dir-b');
    await restoreCopy();
    expect(await seasonOf('dir-a')).toEqual([]);
    expect(await seasonOf('dir-b')).toEqual(['dir-a']);
    expect((await readPayout(desk.ledger, { runId, line: 3 })).state).toBe('unknown');
    expect((await desk.ledger.state.read()).halt).not.toBeNull();
  });
});

async function valuesNow(): Promise<Map<string, Buffer>> {
  const values = new Map<string, Buffer>();
  for (const key of await desk.redis.keys(`${desk.prefix}*`)) {
    const value = await desk.redis.dumpBuffer(key);
    if (value !== null) values.set(key, value);
  }
  return values;
}

async function goBackTo(values: ReadonlyMap<string, Buffer>): Promise<void> {
  await desk.redis.del(await desk.redis.keys(`${desk.prefix}*`));
  for (const [key, value] of values) await desk.redis.restore(key, 0, value);
}

describe('a Redis that goes back under a running server, with the ids that it had', () => {
  test('is found out by the next arming of who armed meanwhile: the season closes, and the logs are compared', async () => {
    const runId = await payingRun(desk.ledger, freshRows(5));
    await seasonOf();
    const before = await valuesNow();
    await armWithLines(runId, [2, 3]);
    await goBackTo(before);
    expect((await desk.ledger.state.season()).open).toBe(true);
    const { payouts } = desk.ledger;
    payouts.sawCounter(await highestCounter(join(folder, 'dir-a')));
    await expect(armPayout(desk.ledger, { runId, line: 2 })).rejects.toThrow('season');
    expect((await desk.ledger.state.season()).open).toBe(false);
    expect(await seasonOf()).toEqual([]);
    for (const at of [2, 3]) expect((await readPayout(desk.ledger, { runId, line: at })).state).toBe('unknown');
    expect((await desk.ledger.state.read()).halt).toContain('2 payouts');
  });
});

const LISTS_LINE_2_ONLY: IdentityBook = {
  check: async () => ({
    problems: [],
    problemsTotal: 0,
    problemGroups: [],
    refused: 0,
    warnings: [],
    acceptedHash: null,
  }),
  judge: (row) =>
    row.line === 2
      ? row
      : { line: row.line, cells: {}, amount: row.amount, code: 'E_IDENTITY', message: 'it is not listed' },
};

describe('a Redis that was restored from before the submit', () => {
  test('gets the run back as a stub that the same file fills, and pays nothing twice', async () => {
    takeCopy();
    const { id } = await submittedRun(FILE);
    const [lost] = await armWithLines(id, [3]);
    await restoreCopy();
    expect(await desk.ledger.runs.read(id)).toBeUndefined();
    expect(await seasonOf()).toEqual([]);
    expect(await desk.ledger.runs.read(id)).toMatchObject({ state: 'recording' });
    expect((await desk.ledger.payouts.read({ runId: id, line: 3 })).payout).toBeUndefined();
    const again = await submittedRun(FILE);
    expect([again.id, again.isNew]).toEqual([id, false]);
    expect((await allRows(desk.ledger, id)).map((row) => ('row' in row ? row.state : ''))).toEqual([
      'ready',
      'unknown',
      'ready',
    ]);
    expect(await readPayout(desk.ledger, { runId: id, line: 3 })).toMatchObject({
      quoteId: lost?.quoteId,
      row: { reference: 'r-2' },
    });
    expect(await countersOf(desk.ledger, id)).toEqual(await recount(desk.ledger, id));
    expect(await desk.ledger.runs.read(id)).toMatchObject({ rows: 3, createdBy: 'anna', fileName: /csv/ });
  });

  test('gets the row of what was sent back, though the service lists its identity no more', async () => {
    takeCopy();
    const { id } = await submittedRun(FILE);
    await armWithLines(id, [3]);
    await restoreCopy();
    await seasonOf();
    await submit(FILE, LISTS_LINE_2_ONLY);
    expect(await readPayout(desk.ledger, { runId: id, line: 3 })).toMatchObject({
      state: 'unknown',
      row: { reference: 'r-2' },
    });
    expect(await countersOf(desk.ledger, id)).toEqual(await recount(desk.ledger, id));
  });

  test('records a row that the service does not list once, however often it comes', async () => {
    const first = await submit(FILE, LISTS_LINE_2_ONLY, true);
    if (first.kind !== 'submitted') throw new Error('the file was refused');
    const { id } = first.run;
    await desk.ledger.runs.note(id, { state: 'recording' });
    await desk.redis.hdel(desk.keys.run(id), 'lastLine');
    await submit(FILE, LISTS_LINE_2_ONLY, true);
    expect(await countersOf(desk.ledger, id)).toEqual(await recount(desk.ledger, id));
    expect(await desk.ledger.references.holders([hashReference('r-3')])).toEqual([[]]);
  });

  test('does not go on by the release alone: a run that comes back while all is halted is not being paid', async () => {
    takeCopy();
    const { id } = await submittedRun(FILE);
    await armWithLines(id, [3]);
    await restoreCopy();
    await seasonOf();
    expect((await submittedRun(FILE)).state).not.toBe('paying');
  });

  test('remembers the reference of a restored payout, once its file was handed in again', async () => {
    takeCopy();
    const { id } = await submittedRun(FILE);
    await armWithLines(id, [3]);
    await restoreCopy();
    await seasonOf();
    await submittedRun(FILE);
    await submittedRun(file(line({ reference: 'r-2' })));
    expect(await payable('r-2')).toEqual([]);
  });

  test('remembers the reference of a restored payout, before its file was handed in again', async () => {
    takeCopy();
    const { id } = await submittedRun(FILE);
    await armWithLines(id, [3]);
    await restoreCopy();
    await seasonOf();
    await submittedRun(file(line({ reference: 'r-2' })));
    expect(await payable('r-2')).toEqual([]);
  });

  test('pays nothing twice when the content comes back with other line ends', async () => {
    takeCopy();
    const { id } = await submittedRun(FILE);
    await armWithLines(id, [3]);
    await restoreCopy();
    await seasonOf();
    await submittedRun(FILE.replaceAll('\n', '\r\n'));
    expect(await payable('r-2')).toEqual([]);
  });

  test('pays nothing twice when the same command is given before the logs were compared', async () => {
    takeCopy();
    const { id } = await submittedRun(FILE);
    await armWithLines(id, [3]);
    await restoreCopy();
    expect(await submittedRun(FILE)).toMatchObject({ id, isNew: false });
    expect(await payable('r-2')).toEqual([]);
  });

  test('is restored in the middle of recording, which is then carried on', async () => {
    const rows = freshRows(3);
    const runId = await claimRun(desk.ledger, rows);
    await recordRows(desk.ledger, runId, rows.slice(0, 2));
    takeCopy();
    await recordRows(desk.ledger, runId, rows.slice(2));
    await desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
    await armWithLines(runId, [2, 4]);
    await restoreCopy();
    await seasonOf();
    await recordRows(desk.ledger, runId, rows);
    const states = (await allRows(desk.ledger, runId)).map((row) => ('row' in row ? row.state : ''));
    expect(states).toEqual(['unknown', 'ready', 'unknown']);
    expect(await countersOf(desk.ledger, runId)).toEqual(await recount(desk.ledger, runId));
  });
});
