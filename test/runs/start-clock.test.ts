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

/** The clock of the host steps ahead while it records. */
function stepsAhead(app: App, config: App['config'] = app.config): App {
  let aheadMs = 0;
  const clock = { ...app.clock, now: () => Date.now() + aheadMs };
  const at = (point: string): void => {
    if (point === 'C16') aheadMs = 31 * DAY_MS;
  };
  return { ...app, config, clock, at };
}

test('a run that is handed in waits for its time although the clock of its host stepped ahead meanwhile', async () => {
  const startAt = Date.now() + 30 * DAY_MS;
  const { id } = await desk.submit(fileOf(1), { startAt, deps: stepsAhead(desk.app) });
  expect(await readRun(desk.app, id)).toMatchObject({ state: 'paused', startAt });
});

test('and so does one that waits for approval before', async () => {
  const startAt = Date.now() + 30 * DAY_MS;
  const config = { ...desk.app.config, approval: { name: 'x', tiers: null, holdsMs: DAY_MS } };
  const { id } = await desk.submit(fileOf(1), { startAt, deps: stepsAhead(desk.app, config) });
  expect(await readRun(desk.app, id)).toMatchObject({ state: 'awaiting-approval', startAt });
});
