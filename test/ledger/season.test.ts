import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock, systemRandom } from '../../src/clock.ts';
import type { IntentLine } from '../../src/ledger/intents/intent-line.ts';
import { intentsFolder, openIntentLog } from '../../src/ledger/intents/intent-log.ts';
import { ensureSeason } from '../../src/ledger/season/season.ts';
import { silentLog } from '../../src/log.ts';
import { Refusal } from '../../src/refusal.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  armingOf,
  armPayout,
  connectArming,
  freshRows,
  movePayout,
  newLedger,
  PATIENCE,
  payingRun,
  readPayout,
  recordRows,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const DEADLINE_MS = 30;

const server = await useTestRedis();
const arming = await useArming(server);
let desk: TestLedger;
let runId: string;
let folder: string;

beforeEach(async () => {
  desk = await newLedger({ redis: server.redis, arming });
  runId = await payingRun(desk.ledger, freshRows(5));
  folder = mkdtempSync(join(tmpdir(), 'payrun-test-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A clock that waits for nothing but tells of each sleep before it ends. */
function sleepless(onSleep: (ms: number) => Promise<void> = async () => {}): Clock & { readonly slept: number[] } {
  const slept: number[] = [];
  return {
    ...systemClock,
    slept,
    async sleep(ms) {
      slept.push(ms);
      await onSleep(ms);
    },
  };
}

function season(clock: Clock = sleepless(), signal?: AbortSignal): Promise<readonly string[]> {
  const { state: head } = desk.ledger;
  const deps = {
    state: head,
    dataDir: folder,
    dataDirId: 'dir-a',
    armDeadlineMs: DEADLINE_MS,
    compareDecisions: async () => {},
    arms: true,
    clock,
    log: silentLog,
  };
  return ensureSeason(deps, signal);
}

async function restart(signal?: NodeJS.Signals): Promise<void> {
  await server.restart(signal);
  await expect.poll(() => arming.ping().catch(() => 'lost'), PATIENCE).toBe('PONG');
}

const refused = () => armPayout(desk.ledger, { runId, line: 6 });

/** A line for an arming of this run that the ledger knows nothing of. */
function lostLine(other: Partial<IntentLine> = {}): IntentLine {
  return {
    runId,
    line: 2,
    fileSha256: 'sha',
    referenceHash: 'hash',
    attempt: 1,
    quoteId: systemRandom.uuid(),
    quoteExpiresAt: 1_900_000_000_000,
    bodyHash: 'body',
    armingCounter: 1,
    owner: 'worker-1',
    armedAt: 1_790_000_000_000,
    credentials: 'fingerprint',
    ...other,
  };
}

async function writeLines(...lines: IntentLine[]): Promise<string> {
  const log = openIntentLog(folder, { clock: systemClock, random: systemRandom });
  for (const line of lines) await log.append(line);
  await log.close();
  return join(intentsFolder(folder), readdirSync(intentsFolder(folder)).toSorted().at(-1) ?? '');
}

describe('a season', () => {
  test('that is open is left alone, without a wait', async () => {
    const clock = sleepless();
    expect(await season(clock)).toEqual([]);
    expect(clock.slept).toEqual([]);
  });

  test.each(['SIGTERM', 'SIGKILL'] as const)(
    'closes when Redis is restarted by %s, until twice the arm deadline is over and the logs were compared',
    async (signal) => {
      await armPayout(desk.ledger, { runId, line: 2 });
      await restart(signal);
      expect(await desk.ledger.state.season()).toMatchObject({ open: false, missing: ['dir-a'] });
      await expect(refused()).rejects.toThrow('season');
      const clock = sleepless(async () => {
        expect((await desk.ledger.state.season()).missing).toEqual(['dir-a']);
        await expect(refused()).rejects.toThrow('season');
      });
      expect(await season(clock)).toEqual([]);
      expect(clock.slept).toEqual([2 * DEADLINE_MS]);
      expect(await desk.ledger.state.season()).toMatchObject({ open: true, missing: [] });
      expect((await refused()).state).toBe('armed');
    },
  );

  test('opens after nothing was lost without a halt, and every run goes on', async () => {
    const before = await armPayout(desk.ledger, { runId, line: 2 });
    await restart();
    await season();
    expect(await desk.ledger.state.read()).toMatchObject({ halt: null, armings: 1 });
    expect(await readPayout(desk.ledger, { runId, line: 2 })).toEqual(before);
    expect((await desk.ledger.runs.read(runId))?.state).toBe('paying');
  });

  test('is waited for anew when Redis is restarted again meanwhile', async () => {
    await restart();
    let restarts = 0;
    const clock = sleepless(async () => {
      if (restarts++ === 0) await restart();
    });
    expect(await season(clock)).toEqual([]);
    expect(clock.slept).toEqual([2 * DEADLINE_MS, 2 * DEADLINE_MS]);
  });

  test('is not opened by a comparison for another run of the server', async () => {
    const { server: earlier } = await desk.ledger.state.season();
    await restart();
    const part = { dataDirId: 'dir-a', server: earlier, last: true, json: '[]', peers: [] };
    expect(await desk.ledger.state.compare(part)).toEqual({ result: 'changed', restored: 0, strangers: [] });
    expect((await desk.ledger.state.season()).open).toBe(false);
  });

  test('whose logs were read before the season was closed opens nothing: what was armed since is not in them', async () => {
    const { server: now, name } = await desk.ledger.state.season();
    await desk.redis.hset(desk.keys.head, 'armings', 0);
    desk.ledger.payouts.sawCounter(1);
    expect((await desk.ledger.state.season()).name).toMatch(/^closed /);
    const part = { dataDirId: 'dir-a', server: now, season: name, last: true, json: '[]', peers: [] };
    expect(await desk.ledger.state.compare(part)).toEqual({ result: 'changed', restored: 0, strangers: [] });
    expect((await desk.ledger.state.season()).open).toBe(false);
  });

  test('stays closed while lines are still to come', async () => {
    await restart();
    const { server: now } = await desk.ledger.state.season();
    await desk.ledger.state.compare({ dataDirId: 'dir-a', server: now, last: false, json: '[]', peers: [] });
    expect((await desk.ledger.state.season()).open).toBe(false);
  });

  test('stays closed when the process is told to stop in the wait', async () => {
    await restart();
    const stop = new AbortController();
    const clock = sleepless(async () => stop.abort());
    expect(await season(clock, stop.signal)).toEqual(['dir-a']);
    expect((await desk.ledger.state.season()).open).toBe(false);
  });

  test('closes when the replication history changes although the server is the same', async () => {
    const { server: before } = await desk.ledger.state.season();
    await desk.redis.replicaof('127.0.0.1', 1);
    await desk.redis.replicaof('NO', 'ONE');
    const now = await desk.ledger.state.season();
    expect(now.open).toBe(false);
    expect(now.server.split(' ')[0]).toBe(before.split(' ')[0]);
    await expect(refused()).rejects.toThrow('season');
    expect(await season()).toEqual([]);
  });

  test('does not open before each directory that may arm has compared, also one that never armed anything', async () => {
    await desk.ledger.state.enterDir('dir-gone');
    await restart();
    expect(await season()).toEqual(['dir-gone']);
    expect((await desk.ledger.state.season()).missing).toEqual(['dir-gone']);
    await expect(refused()).rejects.toThrow('season');
  });
});

/** What each process does in its sweep: it notes all directories on its disk, and says so. */
async function noteAll(): Promise<void> {
  const { state: head } = desk.ledger;
  const { dataDirIds } = await head.season();
  for (const dir of dataDirIds) if (dir !== 'dir-b') await head.notePeers(dir, dataDirIds);
}

function joining(clock: Clock): Promise<readonly string[]> {
  const { state: head } = desk.ledger;
  return ensureSeason({
    state: head,
    dataDir: folder,
    dataDirId: 'dir-b',
    armDeadlineMs: DEADLINE_MS,
    compareDecisions: async () => {},
    arms: true,
    clock,
    log: silentLog,
  });
}

describe('a data directory that joins an open season', () => {
  test('may not arm before each other one has noted it on its disk', async () => {
    expect(await joining(sleepless())).toEqual(['dir-a']);
    await expect(armPayout(desk.in('dir-b'), { runId, line: 2 })).rejects.toThrow('season');
    expect((await desk.ledger.state.season('dir-b')).strangers).toEqual(['dir-a']);
    await noteAll();
    expect(await joining(sleepless())).toEqual([]);
    expect((await desk.ledger.state.season('dir-b')).strangers).toEqual([]);
    await armPayout(desk.in('dir-b'), { runId, line: 2 });
  });

  test('waits for nobody who never could arm', async () => {
    await desk.ledger.state.enterDir('dir-idle');
    await noteAll();
    expect(await joining(sleepless(noteAll))).toEqual([]);
  });

  test('may arm once it is noted, without another wait when it has no logs', async () => {
    const clock = sleepless(noteAll);
    await expect(armPayout(desk.in('dir-b'), { runId, line: 2 })).rejects.toThrow('season');
    expect(await joining(clock)).toEqual([]);
    expect(clock.slept).not.toContain(2 * DEADLINE_MS);
    expect((await armPayout(desk.in('dir-b'), { runId, line: 2 })).state).toBe('armed');
    expect((await armPayout(desk.ledger, { runId, line: 3 })).state).toBe('armed');
  });

  test('compares its logs first, and halts everything if the ledger knows nothing of them', async () => {
    await writeLines(lostLine());
    const clock = sleepless(noteAll);
    expect(await joining(clock)).toEqual([]);
    expect(clock.slept[0]).toBe(2 * DEADLINE_MS);
    expect((await readPayout(desk.ledger, { runId, line: 2 })).state).toBe('unknown');
    expect((await desk.ledger.state.read()).halt).not.toBeNull();
    expect((await desk.ledger.runs.read(runId))?.state).toBe('paused');
  });

  test('finds no breach in a line whose request was never sent, although the payout was armed with another quote since', async () => {
    const unsent = await armPayout(desk.ledger, { runId, line: 2 });
    await writeLines(
      lostLine({
        quoteId: unsent.quoteId ?? '',
        armingCounter: unsent.armingCounter,
        armedAt: unsent.armedAt ?? 0,
      }),
    );
    await movePayout(desk.ledger, unsent, { to: 'ready', dropQuote: 'not-sent' });
    const paid = await armPayout(desk.ledger, { runId, line: 2 });
    await movePayout(desk.ledger, paid, { to: 'accepted' });
    expect(await joining(sleepless(noteAll))).toEqual([]);
    expect(await readPayout(desk.ledger, { runId, line: 2 })).toMatchObject({
      state: 'accepted',
      quoteId: paid.quoteId,
    });
    expect((await desk.ledger.state.read()).halt).toBeNull();
  });

  test('never hides a quote that was armed meanwhile: a payout with two of them is for people to decide', async () => {
    const armed = await armPayout(desk.ledger, { runId, line: 2 });
    await writeLines(lostLine({ armingCounter: 60 }));
    await joining(sleepless());
    const { state, quoteId } = await readPayout(desk.ledger, { runId, line: 2 });
    expect(state === 'held' || quoteId === armed.quoteId).toBe(true);
  });

  test('never hides it at the next restart either, when all logs are compared anew', async () => {
    const armed = await armPayout(desk.ledger, { runId, line: 2 });
    await writeLines(lostLine({ armingCounter: 60 }));
    await joining(sleepless());
    await restart();
    await season();
    const { state, quoteId } = await readPayout(desk.ledger, { runId, line: 2 });
    expect([state, quoteId]).toEqual(['held', armed.quoteId]);
  });
});

describe('in a closed season', () => {
  beforeEach(() => restart());

  test('no file is claimed and no row is recorded: what was lost comes back first', async () => {
    const rows = freshRows(1);
    const claim = { fileName: 'a.csv', fileSha256: 'a', contentHash: 'a', rows: 1, fileTotals: [], createdBy: 'anna' };
    expect((await desk.ledger.runs.claim({ id: '20260131-aaaaaa', ...claim })).result).toBe('season');
    expect(await recordRows(desk.ledger, runId, rows)).toBe('season');
    expect(await desk.ledger.runs.read('20260131-aaaaaa')).toBeUndefined();
  });
});

describe('comparing intent logs', () => {
  beforeEach(() => restart());

  test('restores more lines than fit one call, and halts once all are restored', async () => {
    await season();
    const rows = freshRows(1200);
    const large = await payingRun(desk.ledger, rows);
    await restart();
    const log = openIntentLog(folder, { clock: systemClock, random: systemRandom });
    await Promise.all(
      rows.map(({ line }, index) => log.append(lostLine({ runId: large, line, armingCounter: index + 1 }))),
    );
    await log.close();
    expect(await season()).toEqual([]);
    expect((await desk.ledger.runs.read(large))?.counts).toMatchObject({ ready: 0, unknown: 1200 });
    expect(await desk.ledger.state.read()).toMatchObject({ armings: 1200, halt: expect.stringContaining('1200') });
  });

  test('is done again after a crash between two parts, and still halts', async () => {
    await writeLines(lostLine());
    const { server: now } = await desk.ledger.state.season();
    const { quoteId: q, quoteExpiresAt: x, attempt: k, armingCounter: c } = lostLine();
    const json = JSON.stringify([
      { r: runId, l: 2, s: 'sha', q, x: String(x), k, c, o: 'w', t: '1', f: 'f', h: 'hash' },
    ]);
    await desk.ledger.state.compare({ dataDirId: 'dir-a', server: now, last: false, json, peers: [] });
    expect((await readPayout(desk.ledger, { runId, line: 2 })).state).toBe('unknown');
    expect(await season()).toEqual([]);
    expect((await desk.ledger.state.read()).halt).not.toBeNull();
  });

  test('done by many processes of one directory at once restores each line once', async () => {
    await writeLines(lostLine(), lostLine({ line: 3, armingCounter: 2 }));
    const opened = await Promise.all([season(), season(), season()]);
    expect(opened).toEqual([[], [], []]);
    const { quotes, version } = await readPayout(desk.ledger, { runId, line: 2 });
    // Recorded, restored, and told that its reference went to the later line.
    expect([quotes, version]).toEqual([1, 3]);
    expect((await desk.ledger.runs.read(runId))?.counts.unknown).toBe(2);
  });

  test('keeps the season closed while a line other than the last is damaged, and says which file', async () => {
    const path = await writeLines(lostLine(), lostLine({ line: 3, armingCounter: 2 }));
    const sound = readFileSync(path, 'utf8');
    writeFileSync(path, sound.replace('"attempt":1', '"attempt":2'));
    await expect(season()).rejects.toThrow(Refusal);
    await expect(season()).rejects.toThrow(path);
    expect((await desk.ledger.state.season()).open).toBe(false);
    expect((await readPayout(desk.ledger, { runId, line: 3 })).state).toBe('ready');
    writeFileSync(path, sound);
    expect(await season()).toEqual([]);
    expect((await readPayout(desk.ledger, { runId, line: 3 })).state).toBe('unknown');
  });

  test('takes a torn last line for nothing: its request was never sent', async () => {
    const path = await writeLines(lostLine());
    appendFileSync(path, '\n300 0123abcd {"runId":"2026');
    await writeLines(lostLine({ line: 3, armingCounter: 2 }));
    expect(await season()).toEqual([]);
    expect((await desk.ledger.runs.read(runId))?.counts.unknown).toBe(2);
  });

  test('leaves a later attempt of the ledger alone', async () => {
    await season();
    await armPayout(desk.ledger, { runId, line: 3 });
    const later = await armPayout(desk.ledger, { runId, line: 2 });
    await writeLines(lostLine({ armingCounter: 1 }));
    await restart();
    await season();
    // Whoever judged it without the other quote judges it anew.
    expect(await readPayout(desk.ledger, { runId, line: 2 })).toEqual({ ...later, version: later.version + 1 });
    expect((await desk.ledger.state.read()).halt).toBeNull();
  });

  test.each([
    ['first', ['dir-late', 'dir-a'] as const],
    ['last', ['dir-a', 'dir-late'] as const],
  ])('of a late directory, which comes %s, and of another hides neither quote of a payout', async (_order, dirs) => {
    const armed = {
      'dir-a': { quoteId: systemRandom.uuid(), armingCounter: 5 },
      'dir-late': { quoteId: systemRandom.uuid(), armingCounter: 60 },
    };
    await desk.ledger.state.notePeers('dir-a', ['dir-late']);
    await desk.ledger.state.notePeers('dir-late', ['dir-a']);
    const { server: now } = await desk.ledger.state.season();
    for (const dataDirId of dirs) {
      const { quoteId: q, armingCounter: c } = armed[dataDirId];
      const { quoteExpiresAt: x, attempt: k, armedAt: t } = lostLine();
      const json = JSON.stringify([
        { r: runId, l: 2, s: 'sha', q, x: String(x), k, c, o: 'w', t: String(t), f: 'f', h: 'hash' },
      ]);
      await desk.ledger.state.compare({ dataDirId, server: now, last: true, json, peers: [] });
    }
    const { state, quoteId } = await readPayout(desk.ledger, { runId, line: 2 });
    const beside = await desk.ledger.runs.formerQuotes(runId);
    const [first, second] = dirs.map((dir) => armed[dir].quoteId);
    expect([state, quoteId, beside]).toEqual(['held', first, [{ line: 2, quoteId: second, isProvenDead: false }]]);
  });

  test('of a directory that never armed anything opens the season', async () => {
    expect(await season()).toEqual([]);
    expect(readdirSync(join(folder, 'intents'))).toEqual([]);
  });
});

describe('with a replica', () => {
  test('an arming that it does not acknowledge counts as a lost reply', async () => {
    const port = await freePort();
    const master = await useTestRedis('--port', String(port), '--repl-diskless-sync-delay', '0');
    const replica = await useTestRedis('--replicaof', `127.0.0.1 ${port}`);
    const masterArming = await connectArming(master);
    try {
      const pair = await newLedger({ redis: master.redis, arming: masterArming });
      const paying = await payingRun(pair.ledger, freshRows(2));
      await expect.poll(() => master.redis.wait(1, 100), PATIENCE).toBe(1);
      expect((await armPayout(pair.ledger, { runId: paying, line: 2 })).state).toBe('armed');
      process.kill(replica.pid, 'SIGSTOP');
      const payout = await readPayout(pair.ledger, { runId: paying, line: 3 });
      expect(await pair.ledger.payouts.arm(armingOf(payout))).toEqual({ armed: false, refusal: 'not-replicated' });
      expect((await readPayout(pair.ledger, { runId: paying, line: 3 })).state).toBe('armed');
    } finally {
      masterArming.disconnect();
      await replica.stop();
      await master.stop();
    }
  });
});

async function freePort(): Promise<number> {
  const listener = createServer();
  await new Promise<void>((resolve) => {
    listener.listen(0, '127.0.0.1', resolve);
  });
  const address = listener.address();
  await new Promise((resolve) => {
    listener.close(resolve);
  });
  return typeof address === 'object' && address !== null ? address.port : 0;
}
