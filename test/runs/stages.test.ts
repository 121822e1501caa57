import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { stageRows, stageSizes, stagesText, stageText } from '../../src/config/stages.ts';
import type { Runs } from '../../src/ledger/runs/runs.ts';
import type { Run } from '../../src/payout.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { endStage } from '../../src/runs/after/stage.ts';
import { pauseRun, resumeRun } from '../../src/runs/decide/control.ts';
import { feedRun } from '../../src/runs/feed.ts';
import { type Submission, submitRun } from '../../src/runs/hand-in/submit.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { payoutFile } from '../cli/payrun.ts';
import { useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';
import { armPayout, movePayout } from './recorded-run.ts';

const ROWS = 8;
const LAST_LINE = ROWS + 1;
const BY = { actor: 'ann', reason: 'seen' };

const server = await useTestRedis();
let app: App;
let folder: string;

beforeEach(async () => {
  app = await openTestApp(server.url);
  folder = mkdtempSync(join(tmpdir(), 'payrun-stages-'));
  const rows = Array.from({ length: ROWS }, (_, index) => [`S-${index}`, `${index + 1}0.00`] as const);
  writeFileSync(join(folder, 'file.csv'), payoutFile(rows));
});
afterEach(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('sizes', () => {
  test.each([
    ['10,100,rest', 1000, [10, 110, 1000]],
    ['1%,10%,rest', 1000, [10, 110, 1000]],
    ['0.1%,rest', 1001, [2, 1001]],
    ['10,rest', 10, [10]],
    ['10,100,rest', 40, [10, 40]],
    ['99%,99%,rest', 7, [7]],
    ['1%,1%,rest', 3, [1, 2, 3]],
  ])('%s of %i rows end at the rows %o', (sizes, rows, ends) => {
    expect(stageRows(stageSizes.parse(sizes), rows)).toEqual(ends);
  });

  test.each([
    '',
    'rest',
    '10',
    '10,100',
    '0,rest',
    '-1,rest',
    '100%,rest',
    '0%,rest',
    '1.55%,rest',
    'rest,10',
    '10,,rest',
  ])('"%s" are refused', (sizes) => {
    expect(stageSizes.safeParse(sizes).success).toBe(false);
  });

  test('may be written with blanks, and are ten at most', () => {
    expect(stageSizes.parse(' 10, 5% ,Rest')).toBe('10,5%,rest');
    expect(stageSizes.safeParse(`${'1,'.repeat(9)}rest`).success).toBe(true);
    expect(stageSizes.safeParse(`${'1,'.repeat(10)}rest`).success).toBe(false);
  });
});

function crashAtC16(point: string): void {
  if (point === 'C16') throw new Error('killed');
}

async function submit(given: Partial<Submission> = {}): Promise<Run> {
  const stages = { sizes: '2,3,rest', goesOnIfPaid: false };
  const file = { path: join(folder, 'file.csv'), actor: 'mia', skipInvalid: false, stages };
  const submitted = await submitRun(app, { ...file, ...given });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  return submitted.run;
}

const read = (runId: string) => readRun(app, runId);

/** Gives out what may be given out, as often as there is anything; the lines of it. */
async function feedAll(runId: string): Promise<number[]> {
  const lines: number[] = [];
  for (let times = 0; times < 5; times++) {
    const slices = await feedRun(app.ledger, runId, { slice: 2, window: 100 });
    for (const slice of slices) {
      for (let line = slice.from; line <= slice.to; line++) lines.push(line);
      await app.ledger.slices.end(runId, slice);
    }
    await app.ledger.slices.take(runId, 100);
  }
  return [...new Set(lines)];
}

async function pay(runId: string, lines: readonly number[], state: 'completed' | 'failed' = 'completed') {
  for (const line of lines) {
    await armPayout(app.ledger, { runId, line }, `quote-${runId}-${line}`);
    await movePayout(app.ledger, { runId, line }, 'accepted', state);
  }
}

/** As the sweeper does. */
async function sweep(runId: string): Promise<Run> {
  await finishRun(app.ledger, runId);
  await endStage(app.ledger, await read(runId));
  return await read(runId);
}

describe('a run with stages', () => {
  test('is given out up to the end of its stage, pauses once all of it is final, and goes on when somebody resumes it', async () => {
    const { id, stages } = await submit();
    expect(stages).toEqual({
      ends: [
        { rows: 2, line: 3 },
        { rows: 5, line: 6 },
        { rows: ROWS, line: LAST_LINE },
      ],
      at: 0,
      isOver: false,
      goesOnIfPaid: false,
    });
    expect(await feedAll(id)).toEqual([2, 3]);
    await pay(id, [2]);
    expect((await sweep(id)).state).toBe('paying');
    await armPayout(app.ledger, { runId: id, line: 3 }, `quote-${id}-3`);
    await movePayout(app.ledger, { runId: id, line: 3 }, 'accepted');
    expect((await sweep(id)).state).toBe('paying');
    await movePayout(app.ledger, { runId: id, line: 3 }, 'failed');
    const paused = await sweep(id);
    expect(paused).toMatchObject({ state: 'paused', stages: { at: 0, isOver: true } });
    expect(paused.pauseReason).toBe(
      'stage 1 of 3, to row 2 of 8, is over (1 paid, 1 failed): look at it before it goes on',
    );
    expect(await feedAll(id)).toEqual([]);
    // What was paid may come back while people look.
    expect(await server.redis.zscore(`${app.config.prefix}:watch`, id)).not.toBeNull();
    await resumeRun(app, id, BY);
    expect((await read(id)).stages).toMatchObject({ at: 1, isOver: false });
    expect(await feedAll(id)).toEqual([4, 5, 6]);
    await pay(id, [4, 5, 6]);
    expect((await sweep(id)).state).toBe('paused');
    await resumeRun(app, id, BY);
    expect(await feedAll(id)).toEqual([7, 8, 9]);
    await pay(id, [7, 8, 9]);
    expect((await sweep(id)).state).toBe('finished');
  });

  test('that is paused and resumed by people in the middle of a stage stays in it', async () => {
    const { id } = await submit();
    await pay(id, [2]);
    await pauseRun(app, id, BY);
    expect(await server.redis.zscore(`${app.config.prefix}:watch`, id)).not.toBeNull();
    await sweep(id);
    await resumeRun(app, id, BY);
    expect((await read(id)).stages).toMatchObject({ at: 0, isOver: false });
    expect(await feedAll(id)).toEqual([3]);
  });

  test('is not released further by a resume that stood still until the next stage was over too', async () => {
    const { id } = await submit();
    await pay(id, [2, 3]);
    expect(await sweep(id)).toMatchObject({ state: 'paused', stages: { at: 0, isOver: true } });
    const move: Runs['move'] = async (runId, asked) => {
      await resumeRun(app, id, BY);
      await pay(id, [4, 5, 6]);
      await sweep(id);
      return await app.ledger.runs.move(runId, asked);
    };
    const late = { ...app, ledger: { ...app.ledger, runs: { ...app.ledger.runs, move } } };
    await expect(resumeRun(late, id, BY)).rejects.toThrow('Its stage 2 of 3 is over now');
    expect(await read(id)).toMatchObject({ state: 'paused', stages: { at: 1, isOver: true } });
  });

  test('is not released further by whoever saw an earlier stage', async () => {
    const { id } = await submit();
    await pay(id, [2, 3]);
    await sweep(id);
    await resumeRun(app, id, { ...BY, stage: 1 });
    await expect(resumeRun(app, id, { ...BY, stage: 1 })).rejects.toThrow('Its stage 2 of 3 is being paid now');
    await pay(id, [4, 5, 6]);
    await sweep(id);
    await expect(resumeRun(app, id, { ...BY, stage: 1 })).rejects.toThrow('Its stage 2 of 3 is over now');
    expect(await read(id)).toMatchObject({ state: 'paused', stages: { at: 1, isOver: true } });
    expect((await resumeRun(app, id, { ...BY, stage: 2 })).stages).toMatchObject({ at: 2 });
  });

  test('has a payout of an earlier stage paid that people let go later', async () => {
    const { id } = await submit();
    await feedAll(id);
    await pay(id, [2]);
    await movePayout(app.ledger, { runId: id, line: 3 }, 'held');
    expect((await sweep(id)).state).toBe('paused');
    await movePayout(app.ledger, { runId: id, line: 3 }, 'ready');
    await resumeRun(app, id, BY);
    expect(new Set(await feedAll(id))).toEqual(new Set([3, 4, 5, 6]));
  });

  test('is not given out beyond its stage, whatever asks for it', async () => {
    const { id } = await submit();
    for (const slice of [
      { from: 4, to: 4 },
      { from: 2, to: 9 },
    ]) {
      const { cursor } = await app.ledger.slices.position(id);
      const feed = { seen: cursor, cursor: 10, slices: [slice] };
      expect(await app.ledger.slices.feed(id, feed)).toBeUndefined();
    }
  });

  test('holds the stage again on a Redis that went back to before it was released', async () => {
    const { id } = await submit();
    await feedAll(id);
    await pay(id, [2, 3]);
    const key = `${app.config.prefix}:run:${id}`;
    const before = await server.redis.dumpBuffer(key);
    await sweep(id);
    await resumeRun(app, id, BY);
    expect(await feedAll(id)).toEqual([4, 5, 6]);
    await server.redis.restore(key, 0, before, 'REPLACE');
    expect(await feedAll(id)).toEqual([]);
    expect(await sweep(id)).toMatchObject({ state: 'paused', stages: { at: 0, isOver: true } });
  });

  test('goes on by itself where that was said and all was paid, and pauses where not', async () => {
    const { id } = await submit({ stages: { sizes: '2,3,rest', goesOnIfPaid: true } });
    await pay(id, [2, 3]);
    expect(await sweep(id)).toMatchObject({ state: 'paying', stages: { at: 1, isOver: false } });
    expect((await app.ledger.runs.events(id)).at(-1)).toMatchObject({
      event: 'stage',
      actor: 'payrun',
      reason: 'stage 1 of 3, to row 2 of 8, is over (2 paid): the next one begins',
    });
    await pay(id, [4, 5]);
    await pay(id, [6], 'failed');
    expect(await sweep(id)).toMatchObject({ state: 'paused', stages: { at: 1, isOver: true } });
  });

  test('does not go on by itself while everything is halted', async () => {
    const { id } = await submit({ stages: { sizes: '2,rest', goesOnIfPaid: true } });
    await pay(id, [2, 3]);
    await app.ledger.state.halt('ann', 'stop');
    expect(await sweep(id)).toMatchObject({ stages: { at: 0 } });
    expect(await feedAll(id)).toEqual([]);
  });

  test('that is no longer than its first stage is paid as a whole', async () => {
    const { id, stages } = await submit({ stages: { sizes: '50,rest', goesOnIfPaid: false } });
    expect(stages).toBeNull();
    expect((await feedAll(id)).length).toBe(ROWS);
  });

  test('keeps its stages when somebody else carries its recording on without naming any', async () => {
    const file = { path: join(folder, 'file.csv'), actor: 'mia', skipInvalid: false };
    const stages = { sizes: '2,rest', goesOnIfPaid: true };
    await expect(submitRun({ ...app, at: crashAtC16 }, { ...file, stages })).rejects.toThrow('killed');
    const [id = ''] = await app.ledger.runs.list();
    await server.redis.hdel(`${app.config.prefix}:run:${id}`, 'stagePlan', 'goesOnIfPaid');
    const run = await submit({ stages: undefined });
    expect(run.stages).toMatchObject({ ends: [{ rows: 2 }, { rows: ROWS }], at: 0, goesOnIfPaid: true });
    expect(await feedAll(run.id)).toEqual([2, 3]);
  });

  test('has its stages again when Redis forgot it and its file is handed in once more, by the audit log', async () => {
    const { id, fileSha256 } = await submit();
    const key = `${app.config.prefix}:run:${id}`;
    const gone = await server.redis.keys(`${key}*`);
    await server.redis.del(...gone);
    await server.redis.hset(key, { state: 'recording', createdAt: '1', changes: '1', fileSha256, restored: '1' });
    const run = await submit({ stages: undefined });
    expect(run).toMatchObject({ id, state: 'paused', stages: { ends: [{ line: 3 }, { line: 6 }, {}], at: 0 } });
    await resumeRun(app, id, BY);
    expect(await feedAll(id)).toEqual([2, 3]);
  });

  test('is told in words', async () => {
    const { stages } = await submit();
    if (stages === null) throw new Error('it has no stages');
    expect(stageText(stages)).toBe('stage 1 of 3, to row 2 of 8');
    expect(stagesText(stages)).toBe('2 rows first; then 3, then 3, each when a person resumes it');
  });
});

test('a row of a stage that is not released is not armed, whoever still holds its slice', async () => {
  const submitted = await submitRun(app, {
    path: join(folder, 'file.csv'),
    actor: 'mia',
    skipInvalid: false,
    stages: { sizes: '2,rest', goesOnIfPaid: false },
  });
  if (submitted.kind === 'refused') throw new Error('the file was refused');
  const { id: runId } = submitted.run;
  await armPayout(app.ledger, { runId, line: 3 }, 'quote-3');
  await expect(armPayout(app.ledger, { runId, line: 4 }, 'quote-4')).rejects.toThrow('was not armed: run');
});
