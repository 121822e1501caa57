import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import type { Runs } from '../../src/ledger/runs/runs.ts';
import { endStage } from '../../src/runs/after/stage.ts';
import { pauseRun } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { startRun } from '../../src/runs/hand-in/start.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { factsFinding } from '../../src/runs/safety/seals.ts';
import { FILE, reversed, useHandIns } from './hand-in-desk.ts';
import { armPayout, movePayout } from './recorded-run.ts';

const desk = useHandIns();

interface Frozen {
  readonly deps: App;
  readonly isFrozen: Promise<unknown>;
  readonly goOn: () => void;
}

/** An app whose process stands still for a while, as with Ctrl-Z or on a laptop that sleeps, before it writes something to a run. */
function frozenApp(app: App, writes: (runs: Runs, standStill: () => Promise<void>) => Partial<Runs>): Frozen {
  const process = new EventEmitter();
  const isFrozen = once(process, 'frozen');
  const isThawed = once(process, 'thawed');
  const standStill = async (): Promise<void> => {
    process.emit('frozen');
    await isThawed;
  };
  const runs = { ...app.ledger.runs, ...writes(app.ledger.runs, standStill) };
  return { deps: { ...app, ledger: { ...app.ledger, runs } }, isFrozen, goOn: () => process.emit('thawed') };
}

/** An app for which that time is still to come, however long the hand-in takes. */
function appBefore(startAt: number): App {
  return { ...desk.app, clock: { ...desk.app.clock, now: () => startAt - 1000 } };
}

function frozenBeforeItsTime(app: App): Frozen {
  return frozenApp(app, (runs, standStill) => ({
    async move(runId, move) {
      if (move.start !== undefined) await standStill();
      return await runs.move(runId, move);
    },
  }));
}

function frozenBeforeItsBytes(): Frozen {
  return frozenApp(desk.app, (runs, standStill) => ({
    async takeFile(runId, file) {
      await standStill();
      return await runs.takeFile(runId, file);
    },
  }));
}

describe('a hand-in with a time, that was frozen right before it noted that time', () => {
  test('does not start a run at that time which a person has paused since', async () => {
    const { app } = desk;
    const startAt = Date.now() + 1000;
    const early = appBefore(startAt);
    const { deps, isFrozen, goOn } = frozenBeforeItsTime(early);
    const frozen = desk.submit(FILE, { startAt, deps });
    await isFrozen;
    // It seems to hang: the same is handed in from another terminal. Then somebody finds a mistake in the file, and pauses the run.
    const { id } = await desk.submit(FILE, { startAt, deps: early });
    await pauseRun(app, id, { actor: 'anna', reason: 'wrong amounts' });
    expect(await readRun(app, id)).toMatchObject({ state: 'paused', startAt: null });
    goOn();
    await frozen;
    await sleep(Math.max(0, startAt - Date.now()) + 100);
    // What each sweep does.
    await startRun(app, await readRun(app, id));
    expect((await readRun(app, id)).state).toBe('paused');
  });

  test('lets no stage go that nobody has released', async () => {
    const { app } = desk;
    const startAt = Date.now() + 1000;
    const stages = { sizes: '2,rest', goesOnIfPaid: false };
    const early = appBefore(startAt);
    const { deps, isFrozen, goOn } = frozenBeforeItsTime(early);
    const frozen = desk.submit(FILE, { startAt, stages, deps });
    await isFrozen;
    const { id } = await desk.submit(FILE, { startAt, stages, deps: early });
    await sleep(Math.max(0, startAt - Date.now()) + 100);
    await startRun(app, await readRun(app, id));
    expect(await readRun(app, id)).toMatchObject({ state: 'paying', stages: { at: 0 } });
    goOn();
    await frozen;
    for (const line of [2, 3]) {
      await armPayout(app.ledger, { runId: id, line }, `quote-${id}-${line}`);
      await movePayout(app.ledger, { runId: id, line }, 'accepted', 'completed');
    }
    await endStage(app.ledger, await readRun(app, id));
    expect((await readRun(app, id)).state).toBe('paused');
    await startRun(app, await readRun(app, id));
    expect(await readRun(app, id)).toMatchObject({ state: 'paused', stages: { at: 0 } });
  });
});

test('a run that was recorded from one file is not given to another one that was handed in before', async () => {
  const { app } = desk;
  const putBack = await desk.copy();
  const run = await desk.submit(FILE);
  await putBack();
  await desk.compares();
  // Somebody hands in an export of the same rows in another order; his process stands still. Somebody else has the very file.
  const { deps, isFrozen, goOn } = frozenBeforeItsBytes();
  const frozen = desk.submit(reversed(FILE), { name: 'export.csv', deps });
  await isFrozen;
  const recorded = await desk.submit(FILE);
  expect(recorded.id).toBe(run.id);
  for (const person of ['anna', 'bob']) await releaseHalt({ ledger: app.ledger }, person);
  await app.ledger.runs.move(run.id, { to: 'paying', actor: 'anna', reason: '' });
  goOn();
  await frozen.catch(() => {});
  const after = await readRun(app, run.id);
  // Else a worker halts everything: "run … was changed in Redis by something else than payrun".
  expect.soft(factsFinding(app.ledger, after)?.reason).toBeUndefined();
  expect(after.fileSha256).toBe(recorded.fileSha256);
});
