import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import type { PayoutState } from '../../src/payout.ts';
import { Refusal } from '../../src/refusal.ts';
import { summaryJson } from '../../src/report/document.ts';
import { readPublicKeys } from '../../src/report/signing/signing-key.ts';
import { verifySigned } from '../../src/report/signing/verify.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { purgeRuns } from '../../src/runs/after/purge.ts';
import { summariseRun, writeReport } from '../../src/runs/after/report.ts';
import { cancelRun } from '../../src/runs/decide/control.ts';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { PRIVATE_KEY, SIGNING_KEY } from '../report/signed-reports.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';
import { armPayout, loseQuote, movePayout, recordRun, rowAt } from './recorded-run.ts';

const ORDER = { actor: 'ann', olderThanMs: 0 };

const server = await useTestRedis();
let app: Awaited<ReturnType<typeof openTestApp>>;

beforeEach(async () => {
  app = await openTestApp(server.url);
});
afterEach(async () => {
  await app.close();
  rmSync(app.config.dataDir, { recursive: true, force: true });
});

/** A finished run, reported, whose returns nobody waits for any more. */
async function finalRun(id = 'r1', last: readonly PayoutState[] = ['accepted', 'completed']): Promise<string> {
  const { ledger } = app;
  await recordRun(ledger, { id, lines: [2, 3, 4], refused: [5] });
  for (const line of [2, 3]) {
    await armPayout(ledger, { runId: id, line }, `quote-${id}-${line}`);
    await movePayout(ledger, { runId: id, line }, 'accepted', line === 2 ? 'completed' : 'failed');
  }
  await loseQuote(ledger, { runId: id, line: 4 }, `dead-${id}-4`);
  await armPayout(ledger, { runId: id, line: 4 }, `quote-${id}-4`);
  await movePayout(ledger, { runId: id, line: 4 }, ...last);
  await finishRun(ledger, id);
  await writeReport(app, id);
  await ledger.runs.leave(id);
  await ledger.runs.takeWatch(-1, Date.now());
  return id;
}

async function keysOf(pattern: string): Promise<string[]> {
  return await server.redis.keys(`${app.config.prefix}:${pattern}`);
}

/** Every name and value in the ledger's keys, as one text. */
async function everything(): Promise<string> {
  const texts: string[] = [];
  for (const key of await keysOf('*')) {
    const type = await server.redis.type(key);
    texts.push(key);
    if (type === 'hash') texts.push(JSON.stringify(await server.redis.hgetall(key)));
    if (type === 'list') texts.push(JSON.stringify(await server.redis.lrange(key, 0, -1)));
    if (type === 'zset') texts.push(JSON.stringify(await server.redis.zrange(key, 0, -1)));
    if (type === 'string') texts.push(String(await server.redis.get(key)));
  }
  return texts.join('\n');
}

describe('a run that is final', () => {
  test('loses its rows, quotes and report files, and keeps its numbers, its events and the hashes of its reports', async () => {
    const runId = await finalRun();
    const before = await readRun(app, runId);
    const csv = join(app.config.reportDir, `${runId}.v1.csv`);
    const sha256 = createHash('sha256').update(readFileSync(csv)).digest('hex');
    const events = await app.ledger.runs.events(runId);
    const { outbox } = app.ledger;
    const told = new Set(['completed'] as const);
    await outbox.readPayouts({ runId, endpoint: 'hook', since: String(Date.now()), states: told, most: 1, full: 1 });
    expect(await keysOf('run:*:told:hook')).toHaveLength(1);

    expect(await purgeRuns(app, ORDER)).toEqual([{ runId, result: 'purged' }]);

    expect(await keysOf('run:*:rows:*')).toEqual([]);
    expect(await keysOf('run:*:told:hook')).toEqual([]);
    expect(await keysOf('quotes:*')).toEqual([]);
    expect(existsSync(csv)).toBe(false);
    const text = await everything();
    for (const gone of [rowAt(2).beneficiaryIdentityId, 'INV-', 'quote-r1', 'dead-r1', 'BAD 5']) {
      expect(text).not.toContain(gone);
    }
    const after = await readRun(app, runId);
    expect(after).toMatchObject({
      counts: before.counts,
      amounts: before.amounts,
      fileTotals: before.fileTotals,
      fileSha256: before.fileSha256,
      reportVersion: 1,
      reportHashes: [{ version: 1, csv: sha256, json: expect.stringMatching(/^[0-9a-f]{64}$/) }],
      purgedAt: expect.any(Number),
    });
    expect(await app.ledger.runs.events(runId)).toEqual(events);
    const lines: string[] = [];
    for await (const line of app.ledger.audit.lines()) lines.push(line);
    expect(lines.at(-1)).toContain('"action":"run.purged"');
    expect(lines.at(-1)).toContain('"rows":"4"');
  });

  test('has no report any more, and whoever asks is told the hash of the last one', async () => {
    const runId = await finalRun();
    await purgeRuns(app, ORDER);
    const { reportHashes } = await readRun(app, runId);
    const refusal: unknown = await summariseRun(app, runId).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Refusal);
    expect((refusal as Refusal).remedy).toContain(reportHashes[0]?.csv);
  });

  test('keeps a signed summary without rows that proves itself, in the place of its reports and their signatures', async () => {
    await app.close();
    app = await openTestApp(server.url, { PAYRUN_SIGNING_KEY: PRIVATE_KEY });
    const runId = await finalRun();
    const { outcomes, totals } = summaryJson(await summariseRun(app, runId));
    expect(await purgeRuns(app, ORDER)).toEqual([{ runId, result: 'purged' }]);
    const folder = app.config.reportDir;
    expect(readdirSync(folder).toSorted()).toEqual([`${runId}.summary.json`, `${runId}.summary.sig`]);
    const text = readFileSync(join(folder, `${runId}.summary.json`), 'utf8');
    const { reportHashes: versions } = await readRun(app, runId);
    expect(JSON.parse(text)).toMatchObject({ runId, outcomes, totals, versions, faults: [] });
    for (const gone of [rowAt(2).beneficiaryIdentityId, 'INV-', 'quote-r1', 'BAD 5']) expect(text).not.toContain(gone);
    const keys = readPublicKeys(SIGNING_KEY.pem);
    expect(await verifySigned(folder, keys)).toMatchObject({ proven: [`${runId}.summary.json`], findings: [] });
    writeFileSync(join(folder, `${runId}.summary.json`), text.replace('"paid":2', '"paid":3'));
    const [finding] = (await verifySigned(folder, keys)).findings;
    expect(finding).toContain(`${runId}.summary.json: it is not what was signed`);
  });

  test('keeps its signatures where no summary is signed', async () => {
    const runId = await finalRun();
    writeFileSync(join(app.config.reportDir, `${runId}.v1.sig`), 'a signature');
    await purgeRuns(app, ORDER);
    expect(readdirSync(app.config.reportDir).toSorted()).toEqual([`${runId}.summary.json`, `${runId}.v1.sig`]);
  });

  test('whose rows were half gone before a summary was written gets none', async () => {
    const runId = await finalRun();
    expect(await app.ledger.purging.begin(runId, 0, Date.now())).toBe('purging');
    await app.ledger.purging.rows(runId, [[{ line: 2, referenceHash: null }]]);
    await purgeRuns(app, ORDER);
    expect(readdirSync(app.config.reportDir)).toEqual([]);
  });

  test('is kept until its time has come by the clock of this process, whatever the clock of Redis says', async () => {
    const runId = await finalRun();
    const behind = { ...app, clock: { ...app.clock, now: () => app.clock.now() - 60_000 } };
    expect(await purgeRuns(behind, ORDER)).toEqual([{ runId, result: 'it ended too short a time ago' }]);
  });

  test('is not purged twice, and a purge that broke off is carried on', async () => {
    const runId = await finalRun();
    expect(await app.ledger.purging.begin(runId, 0, Date.now())).toBe('purging');
    await app.ledger.purging.rows(runId, [[{ line: 2, referenceHash: null }]]);
    expect(await purgeRuns(app, ORDER)).toEqual([{ runId, result: 'purged' }]);
    expect(await keysOf('run:*:rows:*')).toEqual([]);
    expect(await purgeRuns(app, ORDER)).toEqual([]);
  });

  test('keeps the reference of a paid payout remembered, and frees that of a failed one', async () => {
    await finalRun('r1');
    await purgeRuns(app, ORDER);
    await recordRun(app.ledger, { id: 'r2', lines: [2, 3] });
    const { counts } = await readRun(app, 'r2');
    expect(counts).toMatchObject({ held: 1, ready: 1 });
  });

  test('and was cancelled counts its rows once, also when its file is handed in again', async () => {
    const path = join(app.dir, 'again.csv');
    copyFileSync('samples/small.csv', path);
    const submission = { path, actor: 'ann', skipInvalid: false };
    const submitted = await submitRun(app, submission);
    if (submitted.kind === 'refused') throw new Error('the sample was refused');
    const { id, rows } = submitted.run;
    await cancelRun(app, id, { actor: 'ann', reason: 'a mistake' });
    await writeReport(app, id);
    await app.ledger.runs.leave(id);
    await app.ledger.runs.takeWatch(-1, Date.now());
    expect(await purgeRuns(app, ORDER)).toEqual([{ runId: id, result: 'purged' }]);

    const again = await submitRun(app, submission);
    expect(again).toMatchObject({ kind: 'submitted', isNew: false, run: { id, counts: { cancelled: rows } } });
    expect(await keysOf('run:*:rows:*')).toEqual([]);
  });

  test('is left alone as long as it ended too short a time ago', async () => {
    const runId = await finalRun();
    expect(await purgeRuns(app, { ...ORDER, olderThanMs: 60_000 })).toEqual([
      { runId, result: 'it ended too short a time ago' },
    ]);
    expect(await keysOf('run:*:rows:*')).toHaveLength(1);
  });

  test('is not taken for one that Redis forgot: its intent lines restore nothing after a restart', async () => {
    const runId = await finalRun();
    await purgeRuns(app, ORDER);
    const keys = ledgerKeys(app.config.prefix);
    await server.redis.hset(keys.head, 'season', 'another server');
    const [dir = ''] = await server.redis.hkeys(keys.dirs);
    const { server: name } = await app.ledger.state.season();
    const line = {
      r: runId,
      l: 2,
      s: `sha-${runId}`,
      h: 'ab',
      q: `quote-${runId}-2`,
      x: '',
      k: 1,
      c: 1,
      o: 'o',
      t: '1',
      f: 'c1',
    };
    const answer = await app.ledger.state.compare({
      dataDirId: dir,
      server: name,
      last: true,
      json: JSON.stringify([line]),
      peers: [dir],
    });
    expect(answer).toMatchObject({ result: 'open', restored: 0 });
    expect(await keysOf('run:*:rows:*')).toEqual([]);
    expect((await app.ledger.state.read()).halt).toBeNull();
  });
});

/** What a purge says of the only run, and whether all of it is still there. */
async function tryPurge(runId: string): Promise<{ result: string | undefined; isWhole: boolean }> {
  const before = (await keysOf('run:*:rows:*')).length;
  const [answer] = await purgeRuns(app, ORDER);
  const isWhole = (await keysOf('run:*:rows:*')).length === before && (await readRun(app, runId)).purgedAt === null;
  return { result: answer?.result, isWhole };
}

describe('a run that is not final is never touched', () => {
  test.each<[PayoutState[], string]>([
    [['unknown', 'held'], '1 payouts are held'],
    [['accepted'], '1 payouts are accepted'],
  ])('with a payout that is %o', async (states, why) => {
    expect(await tryPurge(await finalRun('r1', states))).toEqual({ result: why, isWhole: true });
  });

  test('while it is paid', async () => {
    expect(await tryPurge(await recordRun(app.ledger, { lines: [2] }))).toEqual({
      result: 'it is paying',
      isWhole: true,
    });
  });

  test('as long as a rejection is not confirmed', async () => {
    expect(await tryPurge(await finalRun('r1', ['rejected']))).toEqual({
      result: 'the rejection of line 4 is not confirmed',
      isWhole: true,
    });
  });

  test('as long as its payments are looked at for returns', async () => {
    const runId = await finalRun();
    await server.redis.zadd(ledgerKeys(app.config.prefix).watch, Date.now(), runId);
    expect(await tryPurge(runId)).toEqual({ result: 'its payments are looked at for returns', isWhole: true });
  });

  test('as long as its report does not tell everything', async () => {
    const runId = await finalRun();
    await movePayout(app.ledger, { runId, line: 2 }, 'returned');
    expect(await tryPurge(runId)).toEqual({ result: 'its last report is not up to date', isWhole: true });
  });
});

test('other files in the report folder stay', async () => {
  const runId = await finalRun();
  const others = [`${runId}0.v1.csv`, 'notes.txt'].map((name) => join(app.config.reportDir, name));
  for (const path of others) writeFileSync(path, 'mine');
  await purgeRuns(app, ORDER);
  expect(others.map((path) => existsSync(path))).toEqual([true, true]);
});
