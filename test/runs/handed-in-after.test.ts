import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { silentLog } from '../../src/log.ts';
import { resumeRun } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { type Submission, type Submitted, submitRun } from '../../src/runs/hand-in/submit.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import { writeOffDataDir } from '../../src/runs/safety/write-off.ts';
import { payoutFile } from '../cli/payrun.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

const server = await useTestRedis();
let app: App & { readonly dir: string };
let folder: string;

beforeEach(async () => {
  app = await openTestApp(server.url);
  folder = mkdtempSync(join(tmpdir(), 'payrun-after-'));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function submit(text: string, given: Partial<Submission> = {}, deps: App = app) {
  const path = join(folder, 'file.csv');
  writeFileSync(path, text);
  const submitted: Submitted = await submitRun(deps, { path, actor: 'mia', skipInvalid: false, ...given });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted;
}

function crashAtC16(point: string): void {
  if (point === 'C16') throw new Error('killed');
}

/** The copy is put back, and everything is as after a restart of the worker of this data directory. */
async function comesBack(): Promise<void> {
  const { server: now } = await app.ledger.state.season();
  await redoMissedDecisions({ ledger: app.ledger, clock: app.clock, log: silentLog }, now);
}

const ROWS = Array.from({ length: 4 }, (_, index) => [`S-${index}`, `${index + 1}0.00`] as const);

describe('the stages of a file that Redis forgot', () => {
  test.each([['nobody'], ['another directory']])(
    'are on the audit log for whoever hands it in again, where %s appended before',
    async (who) => {
      const putBack = await copyLedger(server.redis, app.config.prefix);
      const { run } = await submit(payoutFile(ROWS), { stages: { sizes: '1,rest', goesOnIfPaid: false } });
      expect(run.stages).not.toBeNull();
      await putBack();
      if (who === 'another directory') {
        // On a host for commands somebody looks, signs in, or blocks somebody, before a worker has compared.
        const at = { prefix: app.config.prefix, dataDirId: 'dir-c' };
        const other = openLedger({ redis: server.redis, arming: server.redis }, at);
        await other.audit.append({ actor: 'bob', action: 'report.downloaded', target: 'ledger', details: {} });
      }
      await comesBack();
      const again = await submit(payoutFile(ROWS), { actor: 'bob' });
      expect(again.run).toMatchObject({ id: run.id, state: 'paused' });
      await releaseHalt({ ledger: app.ledger }, 'anna');
      await releaseHalt({ ledger: app.ledger }, 'bob');
      await resumeRun(app, run.id, { actor: 'bob', reason: 'goes on' });
      const { stages, createdBy } = again.run;
      expect({ createdBy, to: stages?.ends[0]?.line }).toEqual({ createdBy: 'mia', to: 2 });
    },
  );
});

test('the bound on its cost with which a file was handed in is kept by whoever hands it in again', async () => {
  const putBack = await copyLedger(server.redis, app.config.prefix);
  const { run } = await submit(payoutFile(ROWS), { maxCostDriftBp: 50n });
  const place = { runId: run.id, line: 2 };
  expect((await app.ledger.payouts.read(place)).payout?.costLimit).toMatchObject({ driftBp: 50n });
  await putBack();
  await comesBack();
  const again = await submit(payoutFile(ROWS), { actor: 'bob' });
  expect(again.run.id).toBe(run.id);
  expect((await app.ledger.payouts.read(place)).payout?.costLimit).toMatchObject({ driftBp: 50n });
});

describe('rows whose recording was cut short, and whose bytes are gone', () => {
  test.each([
    ['all of them sound', []],
    ['one of them refused', [['S-9', '-1.00'] as const]],
  ])('are taken over by the same rows in another order, %s', async (_, refused) => {
    const rows = [...ROWS, ...refused];
    const text = payoutFile(rows);
    const [head = '', ...lines] = text.trimEnd().split('\n');
    const reordered = [head, ...lines.toReversed(), ''].join('\n');
    await expect(submit(text, { skipInvalid: true }, { ...app, at: crashAtC16 })).rejects.toThrow('killed');
    const [begun = ''] = await app.ledger.runs.list();
    await app.ledger.runs.note(begun, { recordedAt: String(Date.now() - 61_000) });
    const taken = await submit(reordered, { skipInvalid: true });
    expect(taken).toMatchObject({ isNew: true, run: { state: 'paying' } });
    expect([(await app.ledger.runs.read(begun))?.state, taken.run.counts.ready]).toEqual(['cancelled', ROWS.length]);
  });

  test('are taken over although the clock stepped back by an hour since', async () => {
    const text = payoutFile(ROWS);
    const [head = '', ...lines] = text.trimEnd().split('\n');
    await expect(submit(text, {}, { ...app, at: crashAtC16 })).rejects.toThrow('killed');
    const [begun = ''] = await app.ledger.runs.list();
    // It was recorded minutes ago, by a clock that was an hour ahead.
    await app.ledger.runs.note(begun, { recordedAt: String(Date.now() + 3_600_000 - 300_000) });
    const taken = await submit([head, ...lines.toReversed(), ''].join('\n')).catch(String);
    expect(taken).toMatchObject({ isNew: true });
  });
});

test('a file that is handed in with a time while everything is halted, as after a restore, keeps that time', async () => {
  const startAt = Date.now() + 30 * 86_400_000;
  await app.ledger.state.halt('anna', 'drill');
  const { run } = await submit(payoutFile(ROWS), { startAt });
  expect.soft(run).toMatchObject({ state: 'paused', startAt });
  for (const person of ['anna', 'bob']) await releaseHalt({ ledger: app.ledger }, person);
  // It would be paid at once by whoever resumes each paused run, and not at all by itself.
  expect((await app.ledger.runs.read(run.id))?.startAt).toBe(startAt);
});

test('rows of a run that is in doubt, of which no row is known, are taken in from the same rows in another order', async () => {
  // The file comes after the copy, to a host that is lost; a copy of the audit log tells of it. Its very bytes are gone.
  const putBack = await copyLedger(server.redis, app.config.prefix);
  const text = payoutFile(ROWS);
  const { run } = await submit(text);
  await putBack();
  // The lost host's directory has yet to compare.
  const dirs = `${app.config.prefix}:dirs`;
  await server.redis.hset(dirs, 'dir-lost', '');
  await server.redis.hset(`${app.config.prefix}:head`, 'season', 'closed 1 2');
  await comesBack();
  const own = Object.keys(await server.redis.hgetall(dirs)).filter((id) => id !== 'dir-lost');
  const { server: now } = await app.ledger.state.season();
  for (const id of own) await server.redis.hset(dirs, id, now);
  for (const actor of ['anna', 'bob']) await writeOffDataDir(app, 'dir-lost', { actor, reason: 'burnt' });
  expect((await app.ledger.state.season()).open).toBe(true);
  const [head = '', ...lines] = text.trimEnd().split('\n');
  const again = await submit([head, ...lines.toReversed(), ''].join('\n')).catch(String);
  expect(again).toMatchObject({ run: { id: run.id, counts: { held: ROWS.length } } });
});
