import { beforeEach, describe, expect, test } from 'vitest';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { PAYOUT_STATES, type PayoutState, type Run } from '../../src/payout.ts';
import { Refusal } from '../../src/refusal.ts';
import {
  type ControlDeps,
  cancelPayout,
  cancelRun,
  findPayout,
  hasEnded,
  pauseRun,
  resumeRun,
} from '../../src/runs/decide/control.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { armPayout, beginRun, freshLedger, movePayout, payoutAt, recordRun } from './recorded-run.ts';

const BY_ANN = { actor: 'ann', reason: 'bank holiday' };

const server = await useTestRedis();
let ledger: Ledger;
let woken: string[];
let deps: ControlDeps & { readonly ensureSeason: () => Promise<readonly string[]> };

beforeEach(async () => {
  ledger = await freshLedger(server.redis);
  woken = [];
  deps = {
    ledger,
    ensureSeason: async () => [],
    async wake(runId) {
      woken.push(runId);
    },
  };
});

async function refusalOf(act: Promise<unknown>): Promise<Refusal> {
  const error: unknown = await act.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof Refusal) return error;
  throw new Error('it was not refused', { cause: error });
}

async function statesOf(runId: string): Promise<Partial<Record<PayoutState | 'refused', number>>> {
  const { counts } = await readRun(deps, runId);
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

describe('pausing', () => {
  test('stops a run with its reason, and nothing more is armed', async () => {
    const runId = await recordRun(ledger, { lines: [2, 3] });
    expect(await pauseRun(deps, runId, BY_ANN)).toMatchObject({ state: 'paused', pauseReason: 'bank holiday' });
    await expect(armPayout(ledger, { runId, line: 2 }, 'q-1')).rejects.toThrow('not armed: run');
    expect(await ledger.runs.events(runId)).toContainEqual(expect.objectContaining({ event: 'paused', ...BY_ANN }));
  });

  test('a run that is paused keeps each reason once, and counts each time', async () => {
    const runId = await recordRun(ledger, { lines: [2] });
    await pauseRun(deps, runId, BY_ANN);
    expect(await pauseRun(deps, runId, BY_ANN)).toMatchObject({ pauseReason: 'bank holiday', pauses: 2 });
    const other = { actor: 'bob', reason: 'other' };
    for (let times = 0; times < 2; times++) {
      expect(await pauseRun(deps, runId, other)).toMatchObject({
        pauseReason: 'bank holiday; other',
        pauses: 3 + times,
      });
    }
  });
});

describe('resuming', () => {
  test('lets a paused run go on, and wakes it', async () => {
    const runId = await recordRun(ledger, { lines: [2] });
    await pauseRun(deps, runId, BY_ANN);
    expect(await resumeRun(deps, runId, BY_ANN)).toMatchObject({ state: 'paying', pauseReason: null });
    expect(woken).toEqual([runId]);
    await expect(armPayout(ledger, { runId, line: 2 }, 'q-1')).resolves.toBeUndefined();
  });

  test('is refused while everything is halted, and the run stays paused', async () => {
    const runId = await recordRun(ledger, { lines: [2] });
    await pauseRun(deps, runId, BY_ANN);
    await ledger.state.halt('ann', 'doubt');
    const refusal = await refusalOf(resumeRun(deps, runId, BY_ANN));
    expect(refusal).toMatchObject({ kind: 'usage', message: 'Everything is halted.' });
    expect(refusal.next).toContainEqual({ to: 'release' });
    expect(await readRun(deps, runId)).toMatchObject({ state: 'paused' });
    expect(woken).toEqual([]);
  });

  test('never begins to pay a run that is still being recorded', async () => {
    const runId = await beginRun(ledger, { lines: [2] });
    expect((await refusalOf(resumeRun(deps, runId, BY_ANN))).message).toContain('is recording; it cannot be resumed');
    expect(await readRun(deps, runId)).toMatchObject({ state: 'recording' });
  });

  test('is no approval', async () => {
    const runId = await beginRun(ledger, { lines: [2] });
    await ledger.runs.move(runId, { to: 'awaiting-approval', actor: 'test', reason: 'test' });
    expect((await refusalOf(resumeRun(deps, runId, BY_ANN))).message).toContain('awaiting-approval');
  });
});

describe('cancelling a run', () => {
  test('cancels what was never sent, and leaves alone what may have been', async () => {
    const runId = await recordRun(ledger, { lines: [2, 3, 4, 5, 6, 7], refused: [8] });
    await armPayout(ledger, { runId, line: 3 }, 'q-3');
    await armPayout(ledger, { runId, line: 4 }, 'q-4');
    await movePayout(ledger, { runId, line: 4 }, 'unknown');
    await armPayout(ledger, { runId, line: 5 }, 'q-5');
    await movePayout(ledger, { runId, line: 5 }, 'quoted');
    await armPayout(ledger, { runId, line: 6 }, 'q-6');
    await movePayout(ledger, { runId, line: 6 }, 'accepted');
    const run = await cancelRun(deps, runId, BY_ANN);
    expect(run.state).toBe('cancelled');
    expect(await statesOf(runId)).toEqual({ cancelled: 2, armed: 1, unknown: 1, quoted: 1, accepted: 1, refused: 1 });
    expect(hasEnded(run)).toBe(false);
    expect(await payoutAt(ledger, { runId, line: 2 })).toMatchObject({
      state: 'cancelled',
      history: [{}, { actor: 'ann' }],
    });
  });

  test.each([1000, 40_000])('cancels all of %i rows between first and last line', async (last) => {
    const lines = Array.from({ length: 1000 }, (_value, index) => 2 + Math.floor((index * (last - 2)) / 999));
    const runId = await recordRun(ledger, { lines: [...new Set(lines)] });
    const rows = (await readRun(deps, runId)).rows;
    expect(hasEnded(await cancelRun(deps, runId, BY_ANN))).toBe(true);
    expect(await statesOf(runId)).toEqual({ cancelled: rows });
  });

  test('is possible while it is recorded, waits or is paused', async () => {
    for (const states of [[], ['awaiting-approval'], ['paying'], ['paying', 'paused']] as const) {
      const id = `r-${states.join('-') || 'recording'}`;
      await beginRun(ledger, { id, lines: [2] });
      for (const to of states) await ledger.runs.move(id, { to, actor: 'test', reason: 'test' });
      expect(await cancelRun(deps, id, BY_ANN)).toMatchObject({ state: 'cancelled' });
    }
  });

  test('twice is once, and takes what a crash left ready', async () => {
    const runId = await recordRun(ledger, { lines: [2, 3] });
    await ledger.runs.move(runId, { to: 'cancelled', ...BY_ANN });
    await cancelRun(deps, runId, BY_ANN);
    await cancelRun(deps, runId, BY_ANN);
    expect(await statesOf(runId)).toEqual({ cancelled: 2 });
  });
});

describe('a finished run', () => {
  test.each([
    ['paused', pauseRun],
    ['resumed', resumeRun],
    ['cancelled', cancelRun],
  ])('cannot be %s', async (word, act) => {
    const runId = await recordRun(ledger, { lines: [2] });
    await movePayout(ledger, { runId, line: 2 }, 'rejected');
    await ledger.runs.move(runId, { to: 'finished', actor: 'test', reason: 'test' });
    const refusal = await refusalOf(act(deps, runId, BY_ANN));
    expect(refusal).toMatchObject({ kind: 'usage', message: `Run ${runId} is finished; it cannot be ${word}.` });
    expect(refusal.next).toContainEqual({ to: 'see-run', run: runId });
  });
});

test.each([pauseRun, resumeRun, cancelRun, readRun])('a run that there is not is refused (%o)', async (act) => {
  const refusal = await refusalOf(act(deps, '20260131-absent', BY_ANN));
  expect(refusal).toMatchObject({ kind: 'usage', message: 'There is no run 20260131-absent.' });
});

describe('cancelling one payout', () => {
  test('that waits is done, and the others go on', async () => {
    const runId = await recordRun(ledger, { lines: [2, 3] });
    await cancelPayout(deps, await payoutAt(ledger, { runId, line: 2 }), BY_ANN);
    expect(await statesOf(runId)).toEqual({ ready: 1, cancelled: 1 });
    expect((await payoutAt(ledger, { runId, line: 2 })).history.at(-1)).toMatchObject({ to: 'cancelled', ...BY_ANN });
  });

  test.each<[string, PayoutState[]]>([
    ['armed', []],
    ['unknown', ['unknown']],
    ['quoted', ['quoted']],
    ['accepted', ['accepted']],
    ['held after it was unknown', ['unknown', 'held']],
    ['rejected', ['rejected']],
  ])('whose quote was spent is refused, for its payment may exist: %s', async (_what, states) => {
    const runId = await recordRun(ledger, { lines: [2] });
    await armPayout(ledger, { runId, line: 2 }, 'q-2');
    await movePayout(ledger, { runId, line: 2 }, ...states);
    const before = await payoutAt(ledger, { runId, line: 2 });
    const refusal = await refusalOf(cancelPayout(deps, before, BY_ANN));
    expect(refusal.message).toContain(`The payout of INV-2 is ${before.state}`);
    expect((await payoutAt(ledger, { runId, line: 2 })).state).toBe(before.state);
  });

  test('that is held is for two people, who drop it', async () => {
    const runId = await recordRun(ledger, { lines: [2] });
    await movePayout(ledger, { runId, line: 2 }, 'held');
    const refusal = await refusalOf(cancelPayout(deps, await payoutAt(ledger, { runId, line: 2 }), BY_ANN));
    expect(refusal.message).toContain('is held');
    expect(refusal.next).toContainEqual({ to: 'drop', run: runId, reference: 'INV-2' });
    expect(await statesOf(runId)).toEqual({ held: 1 });
  });

  test('that moved since it was read is refused', async () => {
    const runId = await recordRun(ledger, { lines: [2] });
    const seen = await payoutAt(ledger, { runId, line: 2 });
    await movePayout(ledger, { runId, line: 2 }, 'held', 'ready');
    expect((await refusalOf(cancelPayout(deps, seen, BY_ANN))).remedy).toContain('try again');
  });
});

describe('finding a payout', () => {
  test('takes exactly its reference', async () => {
    const runId = await recordRun(ledger, { lines: [2, 3, 700], refused: [4] });
    expect(await findPayout(ledger, runId, 'INV-700')).toMatchObject({ line: 700 });
    expect(await findPayout(ledger, runId, 'inv-700')).toBeUndefined();
    expect(await findPayout(ledger, runId, 'BAD 4')).toBeUndefined();
    expect(await findPayout(ledger, '20260131-absent', 'INV-2')).toBeUndefined();
  });
});

describe('a run is over', () => {
  test.each(['recording', 'awaiting-approval', 'paying', 'paused'] as const)('never while it is %s', async (state) => {
    const run: Run = { ...(await readRun(deps, await recordRun(ledger, { lines: [2] }))), state };
    expect(hasEnded({ ...run, counts: { ...run.counts, ready: 0 } })).toBe(false);
  });

  test('when it is cancelled and no payout is ready, armed, quoted or unknown', async () => {
    const run: Run = { ...(await readRun(deps, await recordRun(ledger, { lines: [2] }))), state: 'cancelled' };
    for (const state of PAYOUT_STATES) {
      const open = ['ready', 'armed', 'quoted', 'unknown'].includes(state);
      expect([state, hasEnded({ ...run, counts: { ...run.counts, ready: 0, [state]: 1 } })]).toEqual([state, !open]);
    }
  });
});

test('a resume that stood still does not undo a pause that its user never saw', async () => {
  const run = await recordRun(ledger, { lines: [2] });
  await pauseRun(deps, run, { actor: 'anna', reason: 'a look' });
  const move: Ledger['runs']['move'] = async (runId, asked) => {
    await resumeRun(deps, runId, { actor: 'bob', reason: 'go on' });
    await pauseRun(deps, runId, { actor: 'carl', reason: 'the supplier is a fraud' });
    return await ledger.runs.move(runId, asked);
  };
  const late = { ...deps, ledger: { ...ledger, runs: { ...ledger.runs, move } } };
  const words = `Run ${run} has changed since you looked: it is paused (the supplier is a fraud).`;
  await expect(resumeRun(late, run, BY_ANN)).rejects.toThrow(words);
  expect((await readRun(deps, run)).state).toBe('paused');
});

test('a resume from a page that shows another pause is refused, also one for the same reason', async () => {
  const run = await recordRun(ledger, { lines: [2] });
  const { pauses } = await pauseRun(deps, run, { actor: 'anna', reason: 'bank holiday' });
  await resumeRun(deps, run, { actor: 'bob', reason: 'over' });
  await pauseRun(deps, run, { actor: 'carl', reason: 'bank holiday' });
  await refusalOf(resumeRun(deps, run, { ...BY_ANN, pauses }));
  const seen = await readRun(deps, run);
  expect(seen.state).toBe('paused');
  expect((await resumeRun(deps, run, { ...BY_ANN, pauses: seen.pauses })).state).toBe('paying');
});

test('a resume from a page that does not show that somebody else paused the run too is refused, also for the same reason', async () => {
  const run = await recordRun(ledger, { lines: [2] });
  const { pauses } = await pauseRun(deps, run, BY_ANN);
  const told = await pauseRun(deps, run, { ...BY_ANN, actor: 'bob' });
  expect(told).toMatchObject({ pauseReason: 'bank holiday', pauses: pauses + 1 });
  await refusalOf(resumeRun(deps, run, { ...BY_ANN, pauses }));
  expect((await readRun(deps, run)).state).toBe('paused');
});

test('a resume of a run that is being paid undoes no pause that comes meanwhile', async () => {
  const run = await recordRun(ledger, { lines: [2] });
  const move: Ledger['runs']['move'] = async (runId, asked) => {
    await pauseRun(deps, runId, { actor: 'carl', reason: 'fraud' });
    return await ledger.runs.move(runId, asked);
  };
  const late = { ...deps, ledger: { ...ledger, runs: { ...ledger.runs, move } } };
  await expect(resumeRun(late, run, BY_ANN)).rejects.toThrow('has changed since you looked: it is paused (fraud)');
  expect((await readRun(deps, run)).state).toBe('paused');
});

test('a pause of a run that is paused at the end of a stage counts: whoever saw the stage alone does not release the next', async () => {
  const run = await recordRun(ledger, { lines: [2, 3] });
  const stages = { stages: '1@2 2@3', stage: '0', stageEnd: '2' };
  for (const key of await server.redis.keys(`*:run:${run}`)) await server.redis.hset(key, stages);
  await ledger.runs.endStage(run, { at: 0, goesOn: false, reason: 'stage 1 of 2 is over' });
  const { pauses } = await readRun(deps, run);
  const told = await pauseRun(deps, run, { actor: 'carl', reason: 'fraud' });
  expect(told.pauseReason).toBe('stage 1 of 2 is over; fraud');
  await refusalOf(resumeRun(deps, run, { ...BY_ANN, stage: 1, pauses }));
  expect((await readRun(deps, run)).state).toBe('paused');
});
