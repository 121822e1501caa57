import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { App } from '../../src/app.ts';
import { type AuditRecord, readEntry } from '../../src/audit/entry.ts';
import { CAPABILITIES } from '../../src/config/config.ts';
import { Refusal } from '../../src/refusal.ts';
import { verifySigned } from '../../src/report/signing/verify.ts';
import { requireReportFolder, summariseRun, writeReport } from '../../src/runs/after/report.ts';
import { reportChanges } from '../../src/runs/after/report-changes.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { reportPaths } from '../../src/runs/report-paths.ts';
import { VERSION } from '../../src/version.ts';
import { PRIVATE_KEY, SIGNING_KEY } from '../report/signed-reports.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';
import { armPayout, beginRun, movePayout, recordRun } from './recorded-run.ts';

const documentShape = z.looseObject({
  runId: z.string(),
  rows: z.array(z.looseObject({})),
  outcomes: z.looseObject({}),
});

const server = await useTestRedis();
let app: App;
let folder: string;

beforeEach(async () => {
  app = await openTestApp(server.url);
  folder = mkdtempSync(join(tmpdir(), 'payrun-reports-'));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A run with a row of each of some outcomes. */
async function someRun(id = 'r1'): Promise<string> {
  const runId = await recordRun(app.ledger, { id, lines: [2, 3, 4, 5], refused: [6] });
  await armPayout(app.ledger, { runId, line: 3 }, `q-${id}`);
  await movePayout(app.ledger, { runId, line: 3 }, 'accepted', 'completed');
  await movePayout(app.ledger, { runId, line: 4 }, 'held');
  await movePayout(app.ledger, { runId, line: 5 }, 'rejected');
  return runId;
}

function documentAt(path: string | undefined): z.infer<typeof documentShape> {
  return documentShape.parse(JSON.parse(readFileSync(path ?? '', 'utf8')));
}

describe('a report', () => {
  test('is two files named after the run and version 1, and every row of the file ties', async () => {
    const runId = await someRun();
    const { summary, paths } = await writeReport(app, runId, folder);
    expect(paths).toEqual([join(folder, 'r1.v1.csv'), join(folder, 'r1.v1.json')]);
    expect(readdirSync(folder).toSorted()).toEqual(['r1.v1.csv', 'r1.v1.json']);
    expect(summary.ties).toBe(true);
    expect(summary.outcomes).toMatchObject({ waiting: 1, paid: 1, held: 1, rejected: 1, refused: 1, unknown: 0 });
    expect(documentAt(paths[1]).rows).toHaveLength(5);
    expect(
      readFileSync(paths[0] ?? '', 'utf8')
        .trimEnd()
        .split('\n'),
    ).toHaveLength(6);
  });

  test('says where its figures come from', async () => {
    const { paths } = await writeReport(app, await someRun(), folder);
    expect(documentAt(paths[1])).toMatchObject({
      service: 'sandbox',
      sandbox: true,
      environment: 'test',
      version: VERSION,
      overrides: [],
      capabilities: Object.fromEntries(CAPABILITIES.map((name) => [name, true])),
    });
  });

  test('says of a capability that was seen not to hold that it does not', async () => {
    await app.ledger.state.disprove('one-payment-per-quote', 'payout r1-3');
    const { paths } = await writeReport(app, await someRun(), folder);
    expect(documentAt(paths[1])).toMatchObject({
      capabilities: { 'one-payment-per-quote': false, 'expired-quote-refused': true },
    });
  });

  test('lies in the report folder unless another one is named', async () => {
    const { paths } = await writeReport(app, await someRun());
    expect(paths).toEqual(['csv', 'json'].map((ending) => join(app.config.reportDir, `r1.v1.${ending}`)));
    expect(await reportPaths(app.config.reportDir, await readRun(app, 'r1'))).toEqual(paths);
  });
});

test('each version is an entry of the audit log: its hashes, the sum of each outcome, the range of the arming counters', async () => {
  const runId = await someRun();
  await writeReport(app, runId, folder);
  await writeReport(app, runId, folder);
  await movePayout(app.ledger, { runId, line: 3 }, 'returned');
  await writeReport(app, runId, folder);
  const entries: (AuditRecord | undefined)[] = [];
  for await (const line of app.ledger.audit.lines()) entries.push(readEntry(line));
  const [first, second] = (await readRun(app, runId)).reportHashes;
  const sum = '1 rows, 100.50 USD';
  const shared = {
    state: 'paying',
    armings: '1',
    counters: '1-1',
    waiting: sum,
    held: sum,
    rejected: sum,
    refused: sum,
  };
  expect(entries.filter((entry) => entry?.action === 'run.reported')).toMatchObject([
    {
      actor: 'payrun',
      target: 'r1',
      details: { ...shared, version: '1', csv: first?.csv, json: first?.json, paid: sum },
    },
    { details: { ...shared, version: '2', csv: second?.csv, json: second?.json, returned: sum } },
  ]);
});

describe('with a signing key', () => {
  let signing: App;
  beforeEach(() => {
    signing = { ...app, config: { ...app.config, signingKey: PRIVATE_KEY } };
  });

  test('every version is signed, with the head of the audit log and the version before', async () => {
    const runId = await someRun();
    await app.ledger.audit.append({ actor: 'anna', action: 'run.paused', target: runId, details: {} });
    await writeReport(signing, runId, folder);
    const { number, hash } = await app.ledger.audit.head();
    await movePayout(app.ledger, { runId, line: 3 }, 'returned');
    await writeReport(signing, runId, folder);
    const { findings, proven, signed } = await verifySigned(folder, [SIGNING_KEY]);
    expect({ findings, proven }).toEqual({
      findings: [],
      proven: ['r1.v1.csv', 'r1.v1.json', 'r1.v2.csv', 'r1.v2.json'],
    });
    const [first] = (await readRun(app, runId)).reportHashes;
    expect(signed.map(({ facts }) => facts)).toEqual([
      {
        of: 'report',
        run: 'r1',
        version: '1',
        'payout-file': 'sha-r1',
        'audit-head': `${number}:${hash}`,
        previous: 'none',
      },
      expect.objectContaining({ version: '2', previous: `v1 ${first?.csv} ${first?.json}` }),
    ]);
  });

  test('a report from before there was one is signed as it lies there', async () => {
    const runId = await someRun();
    const { paths } = await writeReport(app, runId, folder);
    const before = paths.map((path) => readFileSync(path, 'utf8'));
    await writeReport(signing, runId, folder);
    expect((await verifySigned(folder, [SIGNING_KEY])).findings).toEqual([]);
    expect(paths.map((path) => readFileSync(path, 'utf8'))).toEqual(before);
  });
});

test('what changed since a version is told from the written reports, which are not altered', async () => {
  const runId = await someRun();
  await writeReport(app, runId, folder);
  await movePayout(app.ledger, { runId, line: 3 }, 'returned');
  await writeReport(app, runId, folder);
  const run = await readRun(app, runId);
  const { version, changes } = await reportChanges(folder, run, 1);
  const found: string[] = [];
  for await (const { line, column, from, to } of changes) found.push(`${line} ${column} ${from} ${to}`);
  expect({ version, found }).toEqual({ version: 2, found: expect.arrayContaining(['3 outcome paid returned']) });
  const [path = ''] = readdirSync(folder).filter((name) => name === 'r1.v1.json');
  writeFileSync(join(folder, path), '');
  await expect(reportChanges(folder, run, 1)).rejects.toThrow('is not the one that was written');
  await expect(reportChanges(folder, run, 7)).rejects.toThrow('was never written');
});

describe('writing it again', () => {
  test('gives the same files while nothing changed', async () => {
    const runId = await someRun();
    const first = await writeReport(app, runId, folder);
    const before = first.paths.map((path) => readFileSync(path, 'utf8'));
    expect((await writeReport(app, runId, folder)).paths).toEqual(first.paths);
    expect(first.paths.map((path) => readFileSync(path, 'utf8'))).toEqual(before);
    expect(readdirSync(folder)).toHaveLength(2);
  });

  test('makes a further version when a payout moved, and leaves the earlier one as it was', async () => {
    const runId = await someRun();
    const first = await writeReport(app, runId, folder);
    const before = first.paths.map((path) => readFileSync(path, 'utf8'));
    await movePayout(app.ledger, { runId, line: 3 }, 'returned');
    const second = await writeReport(app, runId, folder);
    expect(second.paths).toEqual([join(folder, 'r1.v2.csv'), join(folder, 'r1.v2.json')]);
    expect(second.summary.outcomes).toMatchObject({ paid: 0, returned: 1 });
    expect(first.paths.map((path) => readFileSync(path, 'utf8'))).toEqual(before);
    expect(await readRun(app, runId)).toMatchObject({ reportVersion: 2 });
  });

  test('makes a further version for another folder, in which none lies', async () => {
    const runId = await someRun();
    await writeReport(app, runId);
    const { paths } = await writeReport(app, runId, folder);
    expect(paths.map((path) => readFileSync(path, 'utf8').length > 0)).toEqual([true, true]);
  });

  test.each(['csv', 'json'])('gives both files again after the %s was taken away', async (ending) => {
    const runId = await someRun();
    await writeReport(app, runId, folder);
    rmSync(join(folder, `r1.v1.${ending}`));
    const { paths } = await writeReport(app, runId, folder);
    expect(paths.map((path) => path.replace(/^.*\./, ''))).toEqual(['csv', 'json']);
    expect(readdirSync(folder)).toEqual(expect.arrayContaining(paths.map((path) => path.slice(folder.length + 1))));
  });

  test('never overwrites a file that somebody else put there', async () => {
    const runId = await someRun();
    const { paths } = await writeReport(app, runId, folder);
    const other = await openTestApp(server.url);
    try {
      await beginRun(other.ledger, { id: 'r1', lines: [2] });
      await other.ledger.runs.move('r1', { to: 'paying', actor: 'test', reason: 'test' });
      const before = paths.map((path) => readFileSync(path, 'utf8'));
      const { paths: others } = await writeReport(other, 'r1', folder);
      expect(others).toEqual([join(folder, 'r1.v2.csv'), join(folder, 'r1.v2.json')]);
      expect(paths.map((path) => readFileSync(path, 'utf8'))).toEqual(before);
      expect((await writeReport(other, 'r1', folder)).paths).toEqual(others);
    } finally {
      await other.close();
    }
  });
});

describe('there is no report', () => {
  test('of a run that is still being recorded: nobody knows its rows', async () => {
    const runId = await beginRun(app.ledger, { lines: [2] });
    const refusal = await writeReport(app, runId, folder).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({ kind: 'usage', message: `Run ${runId} is still being recorded.` });
    await expect(summariseRun(app, runId)).rejects.toThrow('still being recorded');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('of a run that there is not', async () => {
    await expect(writeReport(app, '20260131-absent', folder)).rejects.toThrow('There is no run 20260131-absent.');
  });

  test('yet, and so no path', async () => {
    expect(await reportPaths(folder, await readRun(app, await someRun()))).toEqual([]);
  });
});

test('a summary counts the rows anew and writes nothing', async () => {
  const runId = await someRun();
  expect(await summariseRun(app, runId)).toMatchObject({ ties: true, outcomes: { waiting: 1, paid: 1, held: 1 } });
  expect(await readRun(app, runId)).toMatchObject({ reportVersion: 0 });
});

describe('a report folder', () => {
  test('is made when it is not there', async () => {
    await requireReportFolder(join(folder, 'a', 'b'));
    expect(readdirSync(join(folder, 'a'))).toEqual(['b']);
  });

  test('that cannot be written is refused before anything is paid, with what to do', async () => {
    writeFileSync(join(folder, 'in the way'), '');
    const refused = requireReportFolder(join(folder, 'in the way', 'reports'));
    await expect(refused).rejects.toMatchObject({ kind: 'usage', remedy: expect.stringContaining('--report-dir') });
  });
});
