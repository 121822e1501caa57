#!/usr/bin/env node
// Builds dist beside the one that is there, and takes its place at the end: whoever runs from it misses no file.
//   build.mjs              builds
//   build.mjs --if-stale   builds where dist is missing or older than its source, and TypeScript is installed
import { spawnSync } from 'node:child_process';
import { accessSync, constants, cpSync, existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeLook } from './look.mjs';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');
const PROGRAM = 'src/cli/main.js';
const TYPESCRIPT = join(ROOT, 'node_modules/typescript/bin/tsc');

const isNeeded = !process.argv.includes('--if-stale') || (isStale() && canBuild());
process.exitCode = isNeeded ? build() : 0;

function isStale() {
  const built = join(DIST, PROGRAM);
  return !existsSync(built) || newest() > statSync(built).mtimeMs;
}

/** When a source was changed last, in milliseconds since 1970. */
function newest() {
  const sources = ['src', 'jobs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map((name) => join(ROOT, folder, name)),
  );
  return Math.max(...[...sources, join(ROOT, 'tsconfig.json')].map((path) => statSync(path).mtimeMs));
}

/** Not where libraries for development are left out, or where the folder belongs to somebody else. */
function canBuild() {
  try {
    accessSync(ROOT, constants.W_OK);
    return existsSync(TYPESCRIPT);
  } catch {
    return false;
  }
}

/** The exit code. */
function build() {
  const [fresh, old] = ['new', 'old'].map((what) => join(ROOT, `.tmp-build-${process.pid}-${what}`));
  try {
    makeLook();
    const compiled = spawnSync(process.execPath, [TYPESCRIPT, '-p', 'tsconfig.build.json', '--outDir', fresh], {
      cwd: ROOT,
      stdio: 'inherit',
    });
    if (compiled.status !== 0) return compiled.status ?? 1;
    cpSync(join(ROOT, 'src/cli/payrun'), join(fresh, 'src/cli/payrun'));
    cpSync(join(ROOT, 'src/web/static'), join(fresh, 'src/web/static'), { recursive: true });
    if (existsSync(DIST)) renameSync(DIST, old);
    renameSync(fresh, DIST);
    return 0;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    rmSync(old, { recursive: true, force: true });
  }
}
