import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { exportAudit } from '../../src/runs/audit-export.ts';
import { PRIVATE_KEY } from '../report/signed-reports.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';
import { recordRun } from './recorded-run.ts';

const NAME = 'r1.audit.log';
const ENTRIES = 2000;

const server = await useTestRedis();
let app: App & { readonly dir: string };
let log: string[];

beforeEach(async () => {
  app = await openTestApp(server.url);
  await recordRun(app.ledger, { lines: [2] });
  await app.ledger.audit.append({ actor: 'anna', action: 'run.submitted', target: 'r1', details: {} });
  await app.ledger.audit.append({ actor: 'ben', action: 'run.paused', target: 'r2', details: {} });
  log = [];
  for await (const line of app.ledger.audit.lines()) log.push(line);
});
afterEach(async () => {
  await app.close();
});

/** The app, whose audit log goes on as said once all that is in it was given. */
function followedBy(more: () => AsyncGenerator<string>): App {
  async function* lines(): AsyncGenerator<string> {
    yield* log;
    yield* more();
  }
  return { ...app, ledger: { ...app.ledger, audit: { ...app.ledger.audit, lines } } };
}

test('an export is the log from the first entry of the run on, and replaces the one before', async () => {
  const { paths, entries, ofRun } = await exportAudit(app, { runId: 'r1', folder: app.dir });
  await exportAudit(app, { runId: 'r1', folder: app.dir });
  const path = join(app.dir, NAME);
  expect({ paths, entries, ofRun }).toEqual({ paths: [path], entries: 2, ofRun: 1 });
  expect(readFileSync(path, 'utf8')).toBe(`${log.slice(1).join('\n')}\n`);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('an export that fails half way leaves the one before, and nothing else', async () => {
  writeFileSync(join(app.dir, NAME), 'the one before');
  const before = readdirSync(app.dir);
  const failing = followedBy(async function* () {
    yield log[2] ?? '';
    throw new Error('Redis went away');
  });
  await expect(exportAudit(failing, { runId: 'r1', folder: app.dir })).rejects.toThrow('Redis went away');
  expect(readFileSync(join(app.dir, NAME), 'utf8')).toBe('the one before');
  expect(readdirSync(app.dir)).toEqual(before);
});

test('the signature of an export is of what lies there', async () => {
  const signing = { ...app, config: { ...app.config, signingKey: PRIVATE_KEY } };
  const { paths } = await exportAudit(signing, { runId: 'r1', folder: app.dir });
  const [text = '', signature = ''] = paths.map((path) => readFileSync(path, 'utf8'));
  expect(signature).toContain(`${createHash('sha256').update(text).digest('hex')}  ${NAME}\n`);
  expect(signature).toContain(`audit-head 3:${log[2]?.slice(0, 64)}\n`);
});

test('an export is written while the log is read', async () => {
  let written = 0;
  const long = followedBy(async function* () {
    for (let entry = 0; entry < ENTRIES; entry++) yield log[2] ?? '';
    const part = readdirSync(app.dir).find((name) => name.includes(NAME));
    written = statSync(join(app.dir, part ?? '')).size;
  });
  await exportAudit(long, { runId: 'r1', folder: app.dir });
  expect(written).toBeGreaterThan(statSync(join(app.dir, NAME)).size / 2);
});

test('a run without entries gets no file', async () => {
  await recordRun(app.ledger, { id: 'r3', lines: [3] });
  const before = readdirSync(app.dir);
  await expect(exportAudit(app, { runId: 'r3', folder: app.dir })).rejects.toThrow('no entry about run r3');
  expect(readdirSync(app.dir)).toEqual(before);
});
