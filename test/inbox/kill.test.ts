import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { openTestApp } from '../runs/opened-app.ts';
import { buildProcesses, type Processes, ROOT, type Started } from '../support/payrun-processes.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { seeded } from '../support/seeded.ts';
import { type Box, openBox, payouts } from './rig.ts';

/** All of them take minutes: `npm run test:inbox-kills`. */
const [KILLS, FILES] = process.env['INBOX_KILLS'] === 'all' ? [200, 50] : [60, 15];
const WATCHERS = 2;
const ROWS = 200;
/** From its first look a watcher lives for at most this long. */
const LIFE_MS_MAX = 250;
/** So many of a hundred are killed while they start. */
const EARLY_PERCENT = 10;

let server: TestRedis;
let app: App & { readonly dir: string };
let box: Box;
let processes: Processes;
let built: string;

beforeAll(async () => {
  built = mkdtempSync(join(ROOT, '.tmp-inbox-built-'));
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), [
    '-p',
    join(import.meta.dirname, 'tsconfig.json'),
    '--outDir',
    built,
    '--noCheck',
  ]);
  server = await startTestRedis();
  app = await openTestApp(server.url);
  box = openBox();
  await box.source.prepare();
  processes = buildProcesses();
}, 180_000);

afterAll(async () => {
  await processes.remove();
  await app.close();
  await server.stop();
  box.remove();
  rmSync(built, { recursive: true, force: true });
});

function start(): Started {
  const env = { REDIS_URL: server.url, PAYRUN_DATA_DIR: app.dir, PAYRUN_PREFIX: app.config.prefix };
  return processes.start([box.path], { env, main: join('..', built.slice(ROOT.length + 1), 'test/inbox/watcher.js') });
}

const nameOf = (index: number): string => `file ${index}.csv`;

/** As a careful sender does it: under another name first. */
function drop(index: number): void {
  box.drop(`${nameOf(index)}.part`, payouts(`F${index}`, ROWS));
  renameSync(box.at(`in/${nameOf(index)}.part`), box.at(`in/${nameOf(index)}`));
}

/** Whether a claim has its file still, or no file yet. */
function isMidway(): boolean {
  return box.names('claimed').some((as) => as.startsWith('.') || !box.names('done').includes(as));
}

test(`${KILLS} times kill -9 at random moments over ${FILES} files: each file is one run and one acknowledgement`, {
  timeout: 600_000,
}, async () => {
  const fraction = seeded(1);
  let kills = 0;
  let dropped = 0;
  let midway = 0;
  const liveAndDie = async (): Promise<void> => {
    while (kills < KILLS) {
      const number = kills++;
      while (dropped < Math.min(FILES, (number * FILES) / (KILLS * 0.9))) drop(dropped++);
      const watcher = start();
      if (fraction() * 100 >= EARLY_PERCENT) await watcher.said('ready');
      await delay(fraction() * LIFE_MS_MAX);
      expect(watcher.hasEnded).toBe(false);
      watcher.kill('SIGKILL');
      await watcher.ended;
      if (isMidway()) midway++;
    }
  };
  await Promise.all(Array.from({ length: WATCHERS }, liveAndDie));
  while (dropped < FILES) drop(dropped++);
  const last = start();
  await expect.poll(() => box.names('done').length, { timeout: 60_000, interval: 100 }).toBe(FILES);
  await expect.poll(() => box.names('claimed').length, { timeout: 60_000, interval: 100 }).toBe(FILES);
  last.kill('SIGKILL');
  await last.ended;

  // Else they were killed while they had nothing to do.
  expect(midway).toBeGreaterThan(KILLS / 10);
  expect([box.names('in'), box.names('refused')]).toEqual([[], []]);
  const names = Array.from({ length: FILES }, (_, at) => nameOf(at)).toSorted();
  expect(box.names('done')).toEqual(names);
  expect(box.names('reports')).toEqual(names.map((name) => `${name}.ack.json`));
  const answers = names.map((name) => ({ name, ack: box.ack(name) }));
  expect(answers.filter(({ name, ack }) => ack.duplicate || ack.file.name !== name)).toEqual([]);
  const runIds = answers.map(({ ack }) => ack.runId);
  expect(new Set(runIds).size).toBe(FILES);
  expect((await app.ledger.runs.list()).toSorted()).toEqual(runIds.toSorted());
  for (const { ack } of answers) {
    const { state, fileName, counts } = await readRun(app, ack.runId);
    expect({ state, fileName, rows: counts.ready + counts.held }).toEqual({
      state: 'paying',
      fileName: ack.file.name,
      rows: ROWS,
    });
  }
});
