import { beforeEach, describe, expect, test } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import { systemClock } from '../../src/clock.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Run, RunStart } from '../../src/payout.ts';
import { pauseRun, resumeRun } from '../../src/runs/decide/control.ts';
import { type StartDeps, startRun, startWaitingRuns, waitingFor } from '../../src/runs/hand-in/start.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { armPayout, beginRun, freshLedger } from './recorded-run.ts';

const HOUR_MS = 3_600_000;

const server = await useTestRedis();
let ledger: Ledger;
let woken: string[];
let now: number;
let deps: StartDeps & { readonly ledger: Ledger };

beforeEach(async () => {
  ledger = await freshLedger(server.redis);
  woken = [];
  now = Date.UTC(2026, 10, 23, 12);
  const clock: Clock = { ...systemClock, now: () => now };
  deps = {
    ledger,
    clock,
    config: {},
    async wake(runId) {
      woken.push(runId);
    },
  };
});

/** A recorded run of two payouts that waits for its start. */
async function waitingRun(startAt: RunStart): Promise<Run> {
  const id = await beginRun(ledger, { lines: [2, 3] });
  const waiting = waitingFor(deps, await readRun(deps, id), startAt);
  if (waiting === undefined) throw new Error('it does not wait');
  await ledger.runs.note(id, { startAt: String(waiting.at), startReason: waiting.reason });
  await ledger.runs.move(id, { from: 'recording', to: 'paying', actor: 'ann', reason: 'submitted' });
  return await readRun(deps, id);
}

describe('a run that was given a time to start at', () => {
  test('begins paused, says until when, and nothing of it is armed', async () => {
    const run = await waitingRun(now + HOUR_MS);
    expect(run).toMatchObject({
      state: 'paused',
      startAt: now + HOUR_MS,
      pauseReason: 'it starts at 2026-11-23T13:00:00.000Z',
    });
    await startRun(deps, run);
    expect((await readRun(deps, run.id)).state).toBe('paused');
    await expect(armPayout(ledger, { runId: run.id, line: 2 }, 'q-1')).rejects.toThrow('not armed: run');
  });

  test('is started at its time, once, and its workers are woken', async () => {
    const run = await waitingRun(now + HOUR_MS);
    now += HOUR_MS;
    await Promise.all([startRun(deps, run), startRun(deps, run)]);
    expect(await readRun(deps, run.id)).toMatchObject({ state: 'paying', startAt: null, pauseReason: null });
    const started = (await ledger.runs.events(run.id)).filter(({ event }) => event === 'paying');
    expect(started).toMatchObject([{ actor: 'payrun', reason: 'its time has come' }]);
    expect(woken).toContain(run.id);
  });

  test('is not started by itself any more once a person paused it, also when the pause comes in between', async () => {
    const run = await waitingRun(now + HOUR_MS);
    expect(await pauseRun(deps, run.id, { actor: 'bob', reason: 'wrong file' })).toMatchObject({
      state: 'paused',
      startAt: null,
      pauseReason: 'wrong file',
    });
    now += 2 * HOUR_MS;
    await startRun(deps, run);
    await startRun(deps, await readRun(deps, run.id));
    expect((await readRun(deps, run.id)).state).toBe('paused');
  });

  test('is started earlier by a person who resumes it', async () => {
    const run = await waitingRun(now + HOUR_MS);
    expect(await resumeRun(deps, run.id, { actor: 'bob', reason: 'now' })).toMatchObject({
      state: 'paying',
      startAt: null,
    });
  });

  test('is not started while everything is halted', async () => {
    const run = await waitingRun(now + HOUR_MS);
    await ledger.state.halt('bob', 'look first');
    now += HOUR_MS;
    await startRun(deps, run);
    expect((await readRun(deps, run.id)).state).toBe('paused');
  });
});

describe('a run that waits for a schedule', () => {
  test('is started by the tick of one, and by no time', async () => {
    const run = await waitingRun('schedule');
    now += 1000 * HOUR_MS;
    await startRun(deps, run);
    expect((await readRun(deps, run.id)).state).toBe('paused');
    await startWaitingRuns(deps, Date.now() + HOUR_MS);
    expect((await readRun(deps, run.id)).state).toBe('paying');
  });

  test('is not started by a tick whose time had come before it was handed in', async () => {
    const run = await waitingRun('schedule');
    await startWaitingRuns(deps, run.createdAt - 1);
    expect((await readRun(deps, run.id)).state).toBe('paused');
  });

  test('is started by a tick that came while everything was halted, once that is released', async () => {
    const run = await waitingRun('schedule');
    await ledger.state.halt('bob', 'look first');
    await expect(startWaitingRuns(deps, Date.now() + HOUR_MS)).rejects.toThrow(
      'Everything is halted: no run was started.',
    );
    for (const head of await server.redis.keys('*:head')) await server.redis.hdel(head, 'halt');
    await startWaitingRuns(deps, Date.now() + HOUR_MS);
    expect((await readRun(deps, run.id)).state).toBe('paying');
  });

  test('is not started by a tick when people paused it', async () => {
    const run = await waitingRun('schedule');
    await pauseRun(deps, run.id, { actor: 'bob', reason: 'no' });
    await startWaitingRuns(deps, Date.now() + HOUR_MS);
    expect((await readRun(deps, run.id)).state).toBe('paused');
  });
});

test('a run without a time to start at waits for nothing', async () => {
  const id = await beginRun(ledger, { lines: [2] });
  const run = await readRun(deps, id);
  expect(waitingFor(deps, run)).toBeUndefined();
  expect(waitingFor(deps, run, now)).toBeUndefined();
});
