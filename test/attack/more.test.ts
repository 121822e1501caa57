import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { looksLike } from '../../src/people/look-alikes.ts';
import { requireName } from '../../src/people/names.ts';
import { writeReport } from '../../src/runs/after/report.ts';
import { openTestApp } from '../runs/opened-app.ts';
import { recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from '../web/rig.ts';

const server = await useTestRedis();

test('a run whose id somebody wrote into Redis makes no file outside of the report folder', async () => {
  const app = await openTestApp(server.url);
  onTestFinished(() => app.close());
  const folder = join(app.dir, 'deep', 'reports');
  mkdirSync(folder, { recursive: true });
  // As a job of BullMQ with such an id would have a worker do it (jobs/report.ts).
  const runId = '../../made';
  await recordRun(app.ledger, { id: runId, lines: [2] });
  await writeReport(app, runId, folder).catch(() => undefined);
  expect(existsSync(join(app.dir, 'made.v1.csv'))).toBe(false);
});

test('one request for the audit log does not read all of it, whatever it looks for', async () => {
  const { app, person } = await openWebRig(server.url);
  const vera = await person('vera', 'viewer');
  const key = `${app.config.prefix}:audit`;
  const junk = Array.from({ length: 25_000 }, (_, at) => `no entry ${at}`);
  await server.redis.rpush(key, ...junk);
  const { status, text } = await vera.get('/api/v1/audit?from=1&run=none');
  expect(status).toBe(200);
  const { changed, next } = JSON.parse(text) as { changed: number[]; next: number | null };
  expect([changed.length <= 10_000, next === null]).toEqual([true, false]);
});

test.each([
  ['саӏа', 'cala', 'a Cyrillic palochka'],
  ['оѵо', 'ovo', 'a Cyrillic izhitsa'],
  ['marnie', 'mamie', 'r and n for an m'],
  ['vvalter', 'walter', 'two v for a w'],
])('a name that people take for another one is refused: %j for %j (%s)', (one, other) => {
  expect(() => requireName(one, 'user')).not.toThrow();
  expect(looksLike(one, other)).toBe(true);
});
