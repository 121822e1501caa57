import { describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { cancelRun } from '../../src/runs/decide/control.ts';
import { DAY_MS, FILE, useHandIns } from './hand-in-desk.ts';

const desk = useHandIns();
const BY = { actor: 'bob', reason: 'it is the wrong file' };
const OTHER_BYTES = FILE.replaceAll('\n', '\r\n');

function dies(): never {
  throw new Error('the process was killed');
}

async function statesOfRuns(): Promise<string[]> {
  return (await desk.runs()).map((run) => run.state);
}

test.each([
  ['recorded', false],
  ['recorded in part', true],
])(
  'rows of a run that people cancelled (%s) are not paid because they come again in other bytes',
  async (_what, isKilled) => {
    const { app } = desk;
    const deps: App = isKilled ? { ...app, at: dies } : app;
    await desk.submit(FILE, { actor: 'inbox', deps }).catch(() => {});
    const [first = ''] = await app.ledger.runs.list();
    await cancelRun(app, first, BY);
    const later = { ...app, clock: { ...app.clock, now: () => Date.now() + 3_600_000 } };
    // The partner's system sends the same rows again by itself, with other line ends.
    await desk.submit(OTHER_BYTES, { name: 'again.csv', actor: 'inbox', deps: later }).catch(() => {});
    expect(await statesOfRuns()).toEqual(['cancelled']);
  },
);

test('a hand-in under a key that had its run makes no further one, also where another hand-in had the rows paid anew since', async () => {
  const { app } = desk;
  const first = await desk.submit(FILE, { again: true, key: 'upload-1' });
  await cancelRun(app, first.id, BY);
  const second = await desk.submit(FILE, { again: true, key: 'upload-2' });
  expect(second.id).not.toBe(first.id);
  await cancelRun(app, second.id, BY);
  // The process that handed in the first one (or a program that never saw its answer) carries it on.
  await desk.submit(FILE, { again: true, key: 'upload-1' }).catch(() => {});
  expect(await statesOfRuns()).toEqual(['cancelled', 'cancelled']);
});

describe('rows of a cancelled run that Redis forgot may be paid anew, where people say so', () => {
  test.each([
    ['without a key', {}],
    ['under a key', { key: 'upload-9' }],
  ])('after it was handed in again and came to nothing (%s)', async (_what, key) => {
    const { app } = desk;
    const putBack = await desk.copy();
    const run = await desk.submit(FILE, { startAt: Date.now() + DAY_MS });
    await putBack();
    await desk.compares();
    expect((await desk.submit(FILE)).id).toBe(run.id);
    await cancelRun(app, run.id, BY);
    expect((await app.ledger.runs.read(run.id))?.counts.cancelled).toBe(4);
    const again = await desk.submit(FILE, { again: true, ...key });
    expect(again.id).not.toBe(run.id);
  });

  test('where its very file is lost', async () => {
    const putBack = await desk.copy();
    const run = await desk.submit(FILE, { startAt: Date.now() + DAY_MS });
    await cancelRun(desk.app, run.id, BY);
    await putBack();
    await desk.compares();
    const other = { name: 'other.csv' };
    for (const again of [false, true]) await desk.submit(OTHER_BYTES, { ...other, again }).catch(() => {});
    const last = await desk.submit(OTHER_BYTES, { ...other, again: true }).catch(() => undefined);
    expect(last?.state).toBeDefined();
  });
});
