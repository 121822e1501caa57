#!/usr/bin/env node
// Runs vitest. With TEST_RERUN=alone each file that failed runs once more with nothing beside it, and the suite
// fails only if that fails too: a busy machine makes a test fail now and then, a fault makes it fail alone as well.
// What failed in the end is also written to the file TEST_FAILURES, if there is one.
//   .ci/suite.mjs --project quick
//   .ci/suite.mjs --project quick -- test/money test/pay/      (what follows -- selects files)
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '..');
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');
/** When more files fail than this, the source is at fault and not the machine. */
const FILES_AGAIN_MAX = 20;

const words = process.argv.slice(2);
const middle = words.includes('--') ? words.indexOf('--') : words.length;
process.exitCode = runSuite(words.slice(0, middle), words.slice(middle + 1));

/** The exit code. */
function runSuite(options, selected) {
  const beside = runVitest([...options, ...selected]);
  const failed = failedIn(beside);
  if (beside.code === 0 && failed.length === 0) return 0;
  if (process.env.TEST_RERUN !== 'alone') {
    note(failed);
    return beside.code || 1;
  }
  if (failed.length === 0 || failed.length > FILES_AGAIN_MAX) {
    note(failed);
    say(`${failed.length} files failed: none is run again.`);
    return 1;
  }
  say(`${failed.length} files failed. Each is run once more, with nothing beside it:`, ...failed.map(shown));
  const alone = failed.map((file) => ({ ...file, isSound: runAlone(options, file) }));
  const [sound, unsound] = [alone.filter(({ isSound }) => isSound), alone.filter(({ isSound }) => !isSound)];
  if (sound.length > 0) say(...sound.map((file) => `failed beside others, passed alone: ${shown(file)}`));
  note(unsound);
  if (unsound.length > 0) say(...unsound.map((file) => `failed beside others and alone: ${shown(file)}`));
  return unsound.length > 0 ? 1 : 0;
}

function runAlone(options, { name }) {
  const again = runVitest([...options, '--no-file-parallelism', '--maxConcurrency=1', join(ROOT, name)]);
  return again.code === 0 && again.files.length > 0 && failedIn(again).length === 0;
}

/** What vitest came to: the files that it set out to run, those that passed, those that failed, errors outside of tests. */
function runVitest(args) {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-suite-'));
  const file = join(folder, 'outcome.jsonl');
  try {
    const reporters = ['--reporter=default', `--reporter=${join(import.meta.dirname, 'outcome-reporter.mjs')}`];
    const { status } = spawnSync(process.execPath, [VITEST, 'run', ...reporters, ...args], {
      cwd: ROOT,
      // Not PAYRUN_…, which payrun would refuse as a setting that it does not know.
      env: { ...process.env, TEST_OUTCOME_FILE: file },
      stdio: 'inherit',
    });
    const lines = linesOf(file);
    return {
      code: status ?? 1,
      files: lines.flatMap(({ files = [] }) => files),
      passed: new Set(lines.flatMap(({ passed = [] }) => passed)),
      failures: new Map(lines.filter(({ failed }) => failed !== undefined).map(({ failed, tests }) => [failed, tests])),
      errors: lines.flatMap(({ errors = [] }) => errors),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function linesOf(file) {
  try {
    const text = readFileSync(file, 'utf8');
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  } catch {
    // vitest died before it found its files.
    return [];
  }
}

/** A file that did not pass has failed, whatever ended it. An error that nobody knows the file of fails them all. */
function failedIn({ code, files, passed, failures, errors }) {
  const isUnplaced = errors.some(({ file }) => file === undefined);
  const faulty = new Set(errors.map(({ file }) => file));
  const failed = files.filter((file) => !passed.has(file) || faulty.has(file));
  const suspected = failed.length === 0 && code !== 0 && isUnplaced ? files : failed;
  return suspected.map((file) => {
    const said = errors.filter((error) => error.file === file).map(({ message }) => message);
    return { name: relative(ROOT, file), reasons: [...(failures.get(file) ?? []), ...said] };
  });
}

function shown({ name, reasons }) {
  return `${name}: ${reasons.length > 0 ? reasons.join(' · ') : 'it did not come to its end'}`;
}

function note(failed) {
  const file = process.env.TEST_FAILURES;
  if (file !== undefined) appendFileSync(file, failed.map((one) => `${shown(one)}\n`).join(''));
}

function say(...lines) {
  console.log(`\n${lines.join('\n')}\n`);
}
