import { expect, test } from 'vitest';
import { approveRun } from '../../src/runs/decide/approve.ts';
import { cancelRun, pauseRun } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { FILE, useHandIns } from './hand-in-desk.ts';

const desk = useHandIns();

function killedAtC16(point: string): void {
  if (point === 'C16') throw new Error('killed');
}

async function comparedAndReleased(): Promise<void> {
  const { app } = desk;
  await desk.compares();
  for (const person of ['anna', 'bob']) await releaseHalt({ ledger: app.ledger }, person);
}

test('a run that people paused after the copy, in which it was being recorded, is paused when its file comes again', async () => {
  const { app } = desk;
  await expect(desk.submit(FILE, { deps: { ...app, at: killedAtC16 } })).rejects.toThrow('killed');
  const putBack = await desk.copy();
  const { id, state } = await desk.submit(FILE);
  expect(state).toBe('paying');
  await pauseRun(app, id, { actor: 'anna', reason: 'wrong amounts' });
  await putBack();
  await comparedAndReleased();
  // An inbox or an upload that was cut short does this by itself.
  expect(await desk.submit(FILE)).toMatchObject({ id, state: 'paused' });
});

test('a run that people paused after the copy, in which it waited for approval, is paused when it is approved again', async () => {
  const { app } = desk;
  const deps = { ...app, config: { ...app.config, approval: { name: 'one', tiers: null, holdsMs: 3_600_000 } } };
  const { id, fileSha256, state } = await desk.submit(FILE, { deps });
  expect(state).toBe('awaiting-approval');
  const putBack = await desk.copy();
  await approveRun(deps, id, { actor: 'bob', sha256: fileSha256 });
  await pauseRun(app, id, { actor: 'anna', reason: 'wrong amounts' });
  await putBack();
  await comparedAndReleased();
  // The runbook: look at what was approved, and approve it again.
  await approveRun(deps, id, { actor: 'bob', sha256: fileSha256 });
  expect((await readRun(app, id)).state).toBe('paused');
});

test('a hand-in under a key of which Redis forgot is carried on in its run, also where people cancelled that meanwhile', async () => {
  const { app } = desk;
  const first = await desk.submit(FILE);
  await cancelRun(app, first.id, { actor: 'anna', reason: 'wrong month' });
  const putBack = await desk.copy();
  const asked = { key: 'of-an-upload', again: true };
  const { id } = await desk.submit(FILE, asked);
  expect(id).not.toBe(first.id);
  await putBack();
  await comparedAndReleased();
  // The runbook: each file that came after the copy is handed in again. Then people see that it is wrong once more.
  expect((await desk.submit(FILE, { again: true })).id).toBe(id);
  await cancelRun(app, id, { actor: 'anna', reason: 'still the wrong month' });
  // The upload had been cut short, or the client of the API repeats its request.
  expect(await desk.submit(FILE, asked)).toMatchObject({ id, state: 'cancelled' });
});

test('so is one whose run was the second of its file, which is known as the first one', async () => {
  const { app } = desk;
  const first = await desk.submit(FILE);
  const putBack = await desk.copy();
  await cancelRun(app, first.id, { actor: 'anna', reason: 'wrong month' });
  const asked = { key: 'of-an-upload', again: true };
  const { id } = await desk.submit(FILE, asked);
  expect(id).not.toBe(first.id);
  await cancelRun(app, id, { actor: 'anna', reason: 'still the wrong month' });
  await putBack();
  await comparedAndReleased();
  expect((await readRun(app, first.id)).state).toBe('cancelled');
  expect((await desk.submit(FILE, asked)).state).toBe('cancelled');
});

test.each(['data-dir.retired', 'data-dir.written-off'])(
  'a directory of which Redis forgot that people gave it up (%s) keeps the season closed',
  async (action) => {
    const { ledger } = desk.app;
    const putBack = await desk.copy();
    await ledger.audit.append({
      actor: 'anna',
      action,
      target: 'ledger',
      details: { dataDir: 'dir-lost', proposedBy: 'bob' },
    });
    await putBack();
    await desk.compares();
    expect((await ledger.state.season()).missing).toContain('dir-lost');
  },
);
