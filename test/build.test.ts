import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const NEEDED = ['.ci/build.mjs', '.ci/look.mjs', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'src', 'jobs'];

let folder: string;
const program = () => join(folder, 'dist/src/cli/main.js');
const payrun = (...words: string[]) => spawnSync(join(folder, 'dist/src/cli/payrun'), words, { encoding: 'utf8' });

function build(...words: string[]): number | null {
  return spawnSync(process.execPath, [join(folder, '.ci/build.mjs'), ...words], { cwd: folder }).status;
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'payrun-build-'));
  for (const name of NEEDED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  if (build('--if-stale') !== 0) throw new Error('nothing was built');
}, 240_000);
afterAll(() => rmSync(folder, { recursive: true }));

describe('a build', () => {
  test('can be run as it is, has the files that pages need, and leaves nothing else', () => {
    expect(readdirSync(join(folder, 'dist/src/web/static')).length).toBeGreaterThan(0);
    expect(readdirSync(folder).filter((name) => name.startsWith('.tmp-'))).toEqual([]);
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(payrun('--version').stdout).toContain(version);
  });

  test('refuses a file of settings that is not there in its own words', () => {
    const { status, stderr } = payrun('list', '--env-file', 'none.env');
    expect([status, stderr]).toEqual([2, expect.stringContaining('The file of settings none.env is not taken')]);
  });

  test('runs through a link, as a package manager makes one', () => {
    const link = join(folder, 'link');
    symlinkSync(join(folder, 'dist/src/cli/payrun'), link);
    expect(spawnSync(link, ['--version'], { encoding: 'utf8' }).stdout).toBe(payrun('--version').stdout);
  });

  test('is not made again while its source is the same', () => {
    const before = statSync(program()).ino;
    expect(build('--if-stale')).toBe(0);
    expect(statSync(program()).ino).toBe(before);
  });

  test('of a source that does not compile leaves the one that is there', () => {
    const before = statSync(program()).ino;
    writeFileSync(join(folder, 'src/broken.ts'), 'const amount: bigint = 1;');
    expect(build('--if-stale')).not.toBe(0);
    expect(statSync(program()).ino).toBe(before);
    expect(readdirSync(folder).filter((name) => name.startsWith('.tmp-'))).toEqual([]);
  }, 240_000);
});
