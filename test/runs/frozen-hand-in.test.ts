import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import type { RunMove } from '../../src/ledger/runs/runs.ts';
import type { Run } from '../../src/payout.ts';
import { endStage } from '../../src/runs/after/stage.ts';
import { pauseRun } from '../../src/runs/decide/control.ts';
import { startRun } from '../../src/runs/hand-in/start.ts';
import { type Submission, submitRun } from '../../src/runs/hand-in/submit.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { payoutFile } from '../cli/payrun.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';
import { armPayout, movePayout } from './recorded-run.ts';

/* The eighth attack: a hand-in that was stopped for a while (Ctrl-Z, a laptop that sleeps, a host that swaps) goes on. */

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
  folder = mkdtempSync(join(tmpdir(), 'payrun-frozen-'));
  const rows = Array.from({ length: 4 }, (_, index) => [`S-${index}`, `${index + 1}0.00`] as const);
  writeFileSync(join(folder, 'file.csv'), payoutFile(rows));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

async function submit(given: Partial<Submission>, deps: App = app): Promise<Run> {
  const submitted = await submitRun(deps, {
    path: join(folder, 'file.csv'),
    actor: 'mia',
    skipInvalid: false,
    ...given,
  });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted.run;
}

function gate(): { promise: Promise<void>; open: () => void } {
  let open = (): void => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open: () => open() };
}

/** An app whose process stops right before it notes the time at which a run is to start. */
function frozenApp(): { deps: App; isFrozen: Promise<void>; goOn: () => void } {
  const frozen = gate();
  const thawed = gate();
  const runs = {
    ...app.ledger.runs,
    async move(runId: string, move: RunMove) {
      if (move.start !== undefined) {
        frozen.open();
        await thawed.promise;
      }
      return await app.ledger.runs.move(runId, move);
    },
  };
  return { deps: { ...app, ledger: { ...app.ledger, runs } }, isFrozen: frozen.promise, goOn: thawed.open };
}

describe('a hand-in with a time, that was frozen right before it noted that time', () => {
  test('does not start a run at that time which a person has paused since', async () => {
    const startAt = Date.now() + 2000;
    const { deps, isFrozen, goOn } = frozenApp();
    const frozen = submit({ startAt }, deps);
    await isFrozen;
    // It seems to hang: the same is handed in from another terminal. Then somebody finds a mistake in the file, and pauses the run.
    const { id } = await submit({ startAt });
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
    const startAt = Date.now() + 1000;
    const stages = { sizes: '2,rest', goesOnIfPaid: false };
    const { deps, isFrozen, goOn } = frozenApp();
    const frozen = submit({ startAt, stages }, deps);
    await isFrozen;
    const { id } = await submit({ startAt, stages });
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
