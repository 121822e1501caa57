import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { reportCsv } from '../../src/report/csv.ts';
import { writeReportFiles } from '../../src/report/files.ts';
import { reportJson } from '../../src/report/json.ts';
import type { ReportSource } from '../../src/report/source.ts';
import { payment, payout, type Row, RUN_ID, refused, runOf, sourceOf, textOf } from './rows.ts';

const ROWS: readonly Row[] = [payment(2, 'completed'), payout(3), refused(4), payment(5, 'failed')];

let base: string;
let folder: string;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'report-'));
  folder = join(base, 'deep', 'reports');
});
afterEach(() => rm(base, { recursive: true, force: true }));

async function write(version = 1, rows: readonly Row[] = ROWS): Promise<string[]> {
  return [...(await writeReportFiles(async () => sourceOf(rows), { folder, runId: RUN_ID, version })).paths];
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o777;
}

describe('writeReportFiles', () => {
  test('writes the CSV and the JSON of the report under their names and leaves nothing else', async () => {
    const [csv = '', json = ''] = await write();
    expect([csv, json]).toEqual([join(folder, `${RUN_ID}.v1.csv`), join(folder, `${RUN_ID}.v1.json`)]);
    expect(await readFile(csv, 'utf8')).toBe(await textOf(reportCsv(sourceOf(ROWS))));
    expect(await readFile(json, 'utf8')).toBe(await textOf(reportJson(sourceOf(ROWS))));
    expect(await readdir(folder)).toHaveLength(2);
  });

  test('writes a report of no rows', async () => {
    const [, json = ''] = await write(1, []);
    expect(JSON.parse(await readFile(json, 'utf8'))).toMatchObject({ rows: [], conservation: { rows: true } });
  });

  test('lets only the owner read folder and files', async () => {
    const [csv = '', json = ''] = await write();
    expect([await modeOf(folder), await modeOf(csv), await modeOf(json)]).toEqual([0o700, 0o600, 0o600]);
  });

  test('replaces what a crash left of an earlier try, whatever its mode, without following a link', async () => {
    await write(9);
    const victim = join(base, 'victim');
    await writeFile(victim, 'untouched');
    const leftover = join(folder, `.${RUN_ID}.v1.csv.${process.pid}.part`);
    await writeFile(leftover, 'x'.repeat(100_000));
    await chmod(leftover, 0o644);
    await symlink(victim, join(folder, `.${RUN_ID}.v1.json.${process.pid}.part`));
    const [csv = '', json = ''] = await write();
    expect(await readFile(csv, 'utf8')).toBe(await textOf(reportCsv(sourceOf(ROWS))));
    expect(await modeOf(csv)).toBe(0o600);
    expect((await stat(json)).isFile()).toBe(true);
    expect(await readFile(victim, 'utf8')).toBe('untouched');
    expect((await readdir(folder)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  test('leaves a version with the same content as it is', async () => {
    const first = await write();
    const before = await Promise.all(first.map((path) => stat(path)));
    expect(await write()).toEqual(first);
    const after = await Promise.all(first.map((path) => stat(path)));
    expect(after.map(({ ino, mtimeMs }) => [ino, mtimeMs])).toEqual(before.map(({ ino, mtimeMs }) => [ino, mtimeMs]));
    expect(await readdir(folder)).toHaveLength(2);
  });

  test('completes a version of which a crash left only one file', async () => {
    const [csv = '', json = ''] = await write();
    const content = await readFile(json, 'utf8');
    await rm(json);
    expect(await write()).toEqual([csv, json]);
    expect(await readFile(json, 'utf8')).toBe(content);
  });

  test('takes the next free number rather than overwrite a version with other content', async () => {
    const [csv = ''] = await write();
    const content = await readFile(csv, 'utf8');
    await write(10);
    await writeFile(join(folder, `${RUN_ID}x.v77.csv`), 'of another run');
    const other = ROWS.slice(1);
    expect(await write(1, other)).toEqual([join(folder, `${RUN_ID}.v11.csv`), join(folder, `${RUN_ID}.v11.json`)]);
    expect(await readFile(csv, 'utf8')).toBe(content);
  });

  test('tells contents of the same length apart', async () => {
    await write(1, [payment(2, 'completed', { reason: 'one' })]);
    const [csv] = await write(1, [payment(2, 'completed', { reason: 'two' })]);
    expect(csv).toBe(join(folder, `${RUN_ID}.v2.csv`));
  });

  test('leaves no half file when the ledger fails, and throws what it threw', async () => {
    async function* failing(): AsyncGenerator<readonly Row[]> {
      yield ROWS;
      throw new Error('the connection is gone');
    }
    const source: ReportSource = sourceOf([], { run: runOf(ROWS), rows: failing() });
    await expect(writeReportFiles(async () => source, { folder, runId: RUN_ID, version: 1 })).rejects.toThrow(
      'the connection is gone',
    );
    expect(await readdir(folder)).toEqual([]);
  });

  test('throws what the file system says about the folder', async () => {
    folder = join(base, 'file');
    await writeFile(folder, '');
    await expect(write()).rejects.toMatchObject({ code: 'EEXIST' });
  });
});
