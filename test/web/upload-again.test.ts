import { describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { NO_WEB_SETTINGS } from '../../src/config/web.ts';
import { cancelRun } from '../../src/runs/decide/control.ts';
import { handInUpload, resumeUploads } from '../../src/web/uploads/hand-in.ts';
import { listUploads } from '../../src/web/uploads/upload.ts';
import { payoutFile } from '../cli/payrun.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

const FILE = payoutFile([
  ['INV-1', '12.50'],
  ['INV-2', '12.50'],
  ['INV-3', '12.50'],
]);

const server = await useTestRedis();

/** Anna uploads a file whose rows are to be paid anew. */
async function uploadAgain() {
  const { person, app } = await openWebRig(server.url);
  const anna = await person('anna', 'maker');
  const form = new FormData();
  form.set('file', new Blob([FILE]), 'payouts.csv');
  form.set('again', 'yes');
  const { status, text } = await anna.upload('/upload', form);
  expect(text).toBe('');
  expect(status).toBe(303);
  const [staged] = await listUploads(app);
  if (staged === undefined) throw new Error('nothing was staged');
  return { deps: { ...app, settings: NO_WEB_SETTINGS }, staged };
}

function dies(): never {
  throw new Error('the process was killed');
}

function losesRedis(): never {
  throw new Error('the connection to Redis was lost');
}

async function cancelFirstRun({ ledger }: App): Promise<string> {
  const [first = ''] = await ledger.runs.list();
  await cancelRun({ ledger, wake: async () => {} }, first, { actor: 'bob', reason: 'it is the wrong file' });
  return first;
}

async function statesOfRuns({ ledger }: App) {
  const runs = await Promise.all((await ledger.runs.list()).map((id) => ledger.runs.read(id)));
  return runs.map((run) => run?.state);
}

describe('an upload that is to pay rows anew', () => {
  test('makes no second run where its own was cancelled after the process that recorded it ended', async () => {
    const { deps, staged } = await uploadAgain();
    await expect(handInUpload({ ...deps, at: dies }, staged)).rejects.toThrow('the process was killed');
    // Somebody sees the run, which is not to be, and cancels it.
    await cancelFirstRun(deps);
    await resumeUploads(deps);
    expect(await statesOfRuns(deps)).toEqual(['cancelled']);
  });

  test('makes no second run where its own was recorded, and cancelled before the upload was noted as a run', async () => {
    const { deps, staged } = await uploadAgain();
    // Redis does not answer for a moment, right after the run was let go; nobody has to restart anything.
    await expect(handInUpload({ ...deps, wake: async () => losesRedis() }, staged)).rejects.toThrow(
      'the connection to Redis was lost',
    );
    const first = await cancelFirstRun(deps);
    expect(await deps.ledger.runs.read(first)).toMatchObject({ state: 'cancelled', counts: { cancelled: 3 } });
    // What keepUploads does each hour.
    await resumeUploads(deps);
    expect(await statesOfRuns(deps)).toEqual(['cancelled']);
  });
});
