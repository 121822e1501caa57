import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { cancelRun } from '../../src/runs/decide/control.ts';
import { type Submission, submitRun } from '../../src/runs/hand-in/submit.ts';
import { payoutFile } from '../cli/payrun.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

/* The eighth attack: the rows of a run that people cancelled come again in other bytes. */
let server: TestRedis;
let app: App;
let folder: string;
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.stop();
});
beforeEach(async () => {
  app = await openTestApp(server.url);
  folder = mkdtempSync(join(tmpdir(), 'payrun-take-'));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

const ROWS = Array.from({ length: 4 }, (_, index) => [`S-${index}`, `${index + 1}0.00`] as const);

async function submit(name: string, text: string, deps: App = app, given: Partial<Submission> = {}) {
  const path = join(folder, name);
  writeFileSync(path, text);
  const submitted = await submitRun(deps, { path, actor: 'inbox', skipInvalid: false, ...given });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted;
}

test.each([
  ['recorded', false],
  ['recorded in part', true],
])(
  'rows of a run that people cancelled (%s) are not paid because they come again in other bytes',
  async (_what, dies) => {
    const deps: App = dies
      ? {
          ...app,
          at: () => {
            throw new Error('the process was killed');
          },
        }
      : app;
    await submit('file.csv', payoutFile(ROWS), deps).catch(() => {});
    const [first = ''] = await app.ledger.runs.list();
    await cancelRun(app, first, { actor: 'bob', reason: 'it is the wrong file' });
    const later = { ...app, clock: { ...app.clock, now: () => Date.now() + 3_600_000 } };
    // The partner's system sends the same rows again by itself, with other line ends.
    const again = await submit('again.csv', payoutFile(ROWS).replaceAll('\n', '\r\n'), later).catch((error: unknown) =>
      String(error),
    );
    const runs = await Promise.all((await app.ledger.runs.list()).map((id) => app.ledger.runs.read(id)));
    expect(runs.map((run) => run?.state)).toEqual(['cancelled']);
  },
);
