import { expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { startRun } from '../../src/runs/hand-in/start.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { DAY_MS, fileOf, useHandIns } from './hand-in-desk.ts';

const desk = useHandIns();

test('a run does not start before its time because the clock of one worker, but not of Redis, is ahead', async () => {
  const { app } = desk;
  const { id } = await desk.submit(fileOf(1), { startAt: Date.now() + 30 * DAY_MS });
  const ahead: App = { ...app, clock: { ...app.clock, now: () => Date.now() + 31 * DAY_MS } };
  // What each sweep of that worker does.
  await startRun(ahead, await readRun(app, id));
  expect((await readRun(app, id)).state).toBe('paused');
});
