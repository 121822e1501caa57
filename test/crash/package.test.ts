import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bookFaults, readBook } from '../support/paid-once.ts';
import { ROOT, useProcesses } from '../support/payrun-processes.ts';

const TEST_MS_MAX = 6 * 60_000;
const QUIET = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

const processes = useProcesses();

test(
  'the package that npm pack makes, installed in an empty folder, gives a payrun command that pays a file',
  () => {
    const folder = processes.folder();
    const source = join(folder, 'source');
    const empty = join(folder, 'empty');
    mkdirSync(empty);
    for (const name of ['package.json', 'README.md', 'LICENSE', 'samples', 'docs']) {
      cpSync(join(ROOT, name), join(source, name), { recursive: true });
    }
    cpSync(processes.built, join(source, 'dist'), { recursive: true });
    execFileSync('npm', ['pack', ...QUIET, '--pack-destination', empty], { cwd: source, stdio: 'pipe' });
    writeFileSync(join(empty, 'package.json'), '{"private":true}');
    const tarball = readdirSync(empty).find((name) => name.endsWith('.tgz')) ?? '';
    execFileSync('npm', ['install', ...QUIET, '--prefer-offline', `./${tarball}`], { cwd: empty, stdio: 'pipe' });

    const payrun = join(empty, 'node_modules/.bin/payrun');
    const sample = join(empty, 'node_modules/payrun/samples/small.csv');
    const { PATH = '', HOME = '' } = process.env;
    const printed = execFileSync(payrun, ['run', sample], {
      cwd: empty,
      env: { PATH, HOME },
      stdio: 'pipe',
    }).toString();
    expect(printed).toContain('sandbox: no money moved');
    expect(bookFaults(readFileSync(sample, 'utf8'), readBook(join(empty, '.payrun/sandbox')))).toEqual([]);
  },
  TEST_MS_MAX,
);
