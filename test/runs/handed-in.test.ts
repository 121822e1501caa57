import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { type Submission, submitRun } from '../../src/runs/hand-in/submit.ts';
import { payoutFile } from '../cli/payrun.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

/*
 * Who handed a file in may not approve it: what Redis says of it while the file is recorded is not believed.
 */

const server = await useTestRedis();
let app: App;
let folder: string;

beforeEach(async () => {
  app = await openTestApp(server.url);
  folder = mkdtempSync(join(tmpdir(), 'payrun-handed-in-'));
  writeFileSync(join(folder, 'file.csv'), payoutFile([['H-1', '10.00']]));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

const submission = (given: Partial<Submission>): Submission => ({
  path: join(folder, 'file.csv'),
  actor: 'mia',
  skipInvalid: false,
  ...given,
});

/** Hands the file in while somebody writes these fields to the run in Redis, once its rows are there. */
async function submitWhile(fields: Readonly<Record<string, string>>, given: Partial<Submission>) {
  const { runs } = app.ledger;
  const record: typeof runs.record = async (runId, rows, rememberMs) => {
    const answer = await runs.record(runId, rows, rememberMs);
    await server.redis.hset(`${app.config.prefix}:run:${runId}`, fields);
    return answer;
  };
  const submitted = await submitRun(
    { ...app, ledger: { ...app.ledger, runs: { ...runs, record } } },
    submission(given),
  );
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted.run;
}

function crashAtC16(point: string): void {
  if (point === 'C16') throw new Error('killed');
}

/** Ends after the rows were recorded, as a crash does. */
async function beginAndCrash(given: Partial<Submission>): Promise<void> {
  await expect(submitRun({ ...app, at: crashAtC16 }, submission(given))).rejects.toThrow('killed');
}

describe('who handed a file in', () => {
  test('is who did, whatever was written to Redis while it was recorded', async () => {
    const run = await submitWhile({ createdBy: 'nobody', dropper: 'nobody' }, { actor: 'mia', dropper: 'max' });
    expect([run.createdBy, run.dropper, app.ledger.seals.judgeRun(run)]).toEqual(['mia', 'max', 'true']);
  });

  test('is who began it, by the audit log, when another one carries it on', async () => {
    await beginAndCrash({ actor: 'mia', dropper: '' });
    const run = await submitWhile({ createdBy: 'nobody' }, { actor: 'otto' });
    expect([run.createdBy, run.dropper, app.ledger.seals.judgeRun(run)]).toEqual(['mia', '', 'true']);
  });

  test('is never one who was put in where nobody is named', async () => {
    const run = await submitWhile({ dropper: 'max' }, { actor: 'mia' });
    expect([run.dropper, app.ledger.seals.judgeRun(run)]).toEqual([null, 'true']);
  });
});

test('who hands a file in is told how many of its rows are recorded, up to all of them', async () => {
  const rows = Array.from({ length: 2500 }, (_row, index) => [`R-${index}`, '10.00'] as const);
  writeFileSync(join(folder, 'file.csv'), payoutFile(rows));
  const told: number[] = [];
  const onRecording = (done: number, of: number): void => {
    expect(of).toBe(2500);
    told.push(done);
  };
  expect((await submitRun({ ...app, onRecording }, submission({}))).kind).not.toBe('refused');
  expect(told.length).toBeGreaterThan(1);
  expect(told).toEqual(told.toSorted((one, other) => one - other));
  expect(told.at(-1)).toBe(2500);
});
