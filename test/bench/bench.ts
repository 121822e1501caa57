import { execFileSync } from 'node:child_process';
import { readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { writePages } from './page.ts';
import { type Machine, type Results, type SectionRecord, tableOf } from './results.ts';
import type { Effort, Section } from './section.ts';
import { adaptive } from './sections/adaptive.ts';
import { coordination } from './sections/coordination.ts';
import { growth } from './sections/growth.ts';
import { intake } from './sections/intake.ts';
import { latency } from './sections/latency.ts';
import { layout } from './sections/layout.ts';
import { million } from './sections/million.ts';
import { moments } from './sections/moments.ts';
import { pay } from './sections/pay.ts';
import { report } from './sections/report.ts';
import { textbook } from './sections/textbook.ts';

/*
 * npm run bench -- [SECTION…] [--quick] [--rounds N]
 *
 * Measures what docs/performance.md tells, prints one table and writes it as JSON. Without --quick the JSON is
 * test/bench/last.json, and docs/performance.md and its plot are brought up to date; sections that were not asked for keep
 * their last result. Linux: peaks of memory are read from /proc.
 */

const SECTIONS: readonly Section[] = [
  intake,
  pay,
  latency,
  textbook,
  report,
  growth,
  layout,
  moments,
  coordination,
  adaptive,
  million,
];
const LAST = 'test/bench/last.json';
const QUICK = '.tmp-bench/quick.json';
const ROUNDS = 5;
const QUICK_ROUNDS = 1;
const TMPFS = 0x01021994;

const words = process.argv.slice(2);
const isQuick = words.includes('--quick');
const roundsAt = words.indexOf('--rounds');
const rounds = roundsAt < 0 ? (isQuick ? QUICK_ROUNDS : ROUNDS) : Number(words[roundsAt + 1]);
if (!(rounds >= 1)) throw new Error('--rounds takes how many');
const names = words.filter((word, at) => !word.startsWith('--') && (roundsAt < 0 || at !== roundsAt + 1));

function chosen(): readonly Section[] {
  for (const name of names) {
    if (!SECTIONS.some((section) => section.name === name)) {
      throw new Error(`there is no section ${name}: ${SECTIONS.map((section) => section.name).join(', ')}`);
    }
  }
  return names.length === 0 ? SECTIONS : SECTIONS.filter(({ name }) => names.includes(name));
}

function versionOf(name: string): string {
  return (JSON.parse(readFileSync(join('node_modules', name, 'package.json'), 'utf8')) as { version: string }).version;
}

function machineOf(redis: string): Machine {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model ?? 'unknown',
    versions: {
      node: process.version.slice(1),
      redis,
      ...Object.fromEntries(
        ['bullmq', 'ioredis', 'undici', 'csv-parse', 'csv-stringify'].map((name) => [name, versionOf(name)]),
      ),
    },
  };
}

/** The last committed result, else what lies there. */
function readLast(): Results | undefined {
  try {
    return JSON.parse(execFileSync('git', ['show', `HEAD:${LAST}`], { encoding: 'utf8', stdio: 'pipe' })) as Results;
  } catch {
    return readJson(LAST);
  }
}

function readJson(path: string): Results | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Results;
  } catch {
    return undefined;
  }
}

async function redisVersion(): Promise<string> {
  const { startTestRedis } = await import('../support/redis.ts');
  const redis = await startTestRedis();
  try {
    return /^redis_version:(\S+)/m.exec(await redis.redis.info('server'))?.[1] ?? 'unknown';
  } finally {
    await redis.stop();
  }
}

async function measure(section: Section): Promise<SectionRecord> {
  const started = performance.now();
  const effort: Effort = {
    isQuick,
    rounds,
    pick: (quick, full) => (isQuick ? quick : full),
    say: (line) => process.stderr.write(`  ${line}\n`),
  };
  process.stderr.write(`${section.title} (${section.name})\n`);
  const result = await section.measure(effort);
  const seconds = Math.round((performance.now() - started) / 1000);
  process.stderr.write(`  ${seconds} s\n`);
  return {
    name: section.name,
    title: section.title,
    at: new Date().toISOString(),
    seconds,
    isQuick,
    machine,
    ...result,
  };
}

// What was started here ends with us, however we end.
process.setMaxListeners(0);
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

if (statfsSync(tmpdir()).type === TMPFS) {
  throw new Error(
    `${tmpdir()} lies in memory: set TMPDIR to a folder on a disk, or nothing that is measured is durable`,
  );
}
const machine = machineOf(await redisVersion());
const path = resolve(isQuick ? QUICK : LAST);
const before = readLast();
const measured: SectionRecord[] = [];

/** Keeps what was measured so far, beside the last result of the other sections. */
function keepResults(): void {
  const kept = isQuick
    ? []
    : (readJson(LAST)?.sections ?? []).filter(({ name }) => !measured.some((one) => one.name === name));
  const order = SECTIONS.map(({ name }) => name);
  const sections = [...kept, ...measured].toSorted((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
  const results: Results = { sections };
  writeFileSync(path, `${JSON.stringify(results, null, 2)}\n`);
  if (isQuick) return;
  // As everything else in the repository is formatted.
  execFileSync('node_modules/.bin/biome', ['format', '--write', path], { stdio: 'pipe' });
  writePages(results);
}

for (const section of chosen()) {
  measured.push(await measure(section));
  keepResults();
}
process.stdout.write(`${tableOf({ sections: measured }, before)}\n${path}\n`);
process.exit(0);
