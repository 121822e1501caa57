import { expect, test } from 'vitest';
import { pauseRun, resumeRun } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { FILE, useHandIns } from './hand-in-desk.ts';

const desk = useHandIns();

test('a run of which Redis forgot, with the pause of it, comes back paused, and its rows as they were', async () => {
  const { app } = desk;
  const putBack = await desk.copy();
  const { id, counts } = await desk.submit(FILE);
  await pauseRun(app, id, { actor: 'anna', reason: 'until the money is there' });
  await putBack();
  await desk.compares();
  for (const person of ['anna', 'bob']) await releaseHalt({ ledger: app.ledger }, person);
  const again = await desk.submit(FILE);
  expect(again).toMatchObject({ id, state: 'paused' });
  // A pause gives nothing up: who resumes the run lets its rows go.
  expect(again.counts).toEqual(counts);
  await resumeRun(app, id, { actor: 'anna', reason: '' });
  expect(await readRun(app, id)).toMatchObject({ state: 'paying', counts });
});
