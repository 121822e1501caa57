import { once } from 'node:events';
import { expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import type { Submission } from '../../src/runs/hand-in/submit.ts';
import { FILE, reversed, useHandIns } from './hand-in-desk.ts';
import { payoutAt } from './recorded-run.ts';

const desk = useHandIns();
const LATER = Date.now() + 30 * 86_400_000;
const STAGES = { sizes: '1,rest', goesOnIfPaid: false };
const OTHER_BYTES = FILE.replaceAll('\n', '\r\n');
const PRICED = { previewCost: async () => ({ debited: 100n, arrives: 100n }) };

type Given = Partial<Omit<Submission, 'path'>>;

function dies(point: string): void {
  if (point === 'C16') throw new Error('killed');
}

/** Killed while it records. */
function dying(app: App): App {
  return { ...app, at: dies };
}

async function fails(): Promise<never> {
  throw new Error('killed');
}

/** Killed between the claim and the entry of the audit log. */
function dyingEarly(app: App): App {
  return { ...app, ledger: { ...app.ledger, audit: { ...app.ledger.audit, append: fails } } };
}

/** When nobody records any more. */
function later(app: App, times = 1): App {
  return { ...app, clock: { ...app.clock, now: () => app.clock.now() + times * 61_000 } };
}

async function killed(text: string, given: Given, deps = dying(desk.app)): Promise<void> {
  await expect(desk.submit(text, { ...given, deps })).rejects.toThrow('killed');
}

test('the time that whoever carries a hand-in on says holds after a second kill', async () => {
  await killed(FILE, { actor: 'anna' });
  await desk.rests();
  await killed(FILE, { actor: 'bob', startAt: LATER });
  expect(await desk.submit(FILE, { actor: 'carol' })).toMatchObject({ state: 'paused', startAt: LATER });
});

test('the stages that whoever carries a hand-in on says hold', async () => {
  await killed(FILE, { actor: 'anna' });
  await desk.rests();
  expect((await desk.submit(FILE, { actor: 'bob', stages: STAGES })).stages?.ends).toHaveLength(2);
});

test.each([
  ['stages', { stages: STAGES }],
  ['a time', { startAt: LATER }],
  ['a bound on the cost', { maxCostDriftBp: 0n }],
])(
  'whoever asks for %s while somebody records the rows without it is refused, and changes nothing',
  async (_what, asked) => {
    await killed(FILE, { actor: 'anna' });
    const refused = desk.submit(FILE, { actor: 'bob', deps: { ...desk.app, ...PRICED }, ...asked });
    await expect(refused).rejects.toThrow('are being recorded at this moment');
    const [run] = await desk.runs();
    expect(run).toMatchObject({ stagePlan: null, askedStart: null, maxCostDriftBp: null });
    expect((await desk.submit(FILE, { actor: 'carol' })).state).toBe('paying');
  },
);

test('whoever hands in a file that Redis forgot may say at once when it is to start', async () => {
  const putBack = await desk.copy();
  await desk.submit(FILE, { actor: 'anna' });
  await putBack();
  await desk.compares();
  const [restored] = await desk.runs();
  expect(restored).toMatchObject({ state: 'recording', askedStart: null });
  expect((await desk.submit(FILE, { actor: 'bob', startAt: LATER })).askedStart).toBe(LATER);
});

test('what was said first holds against what is said later', async () => {
  await killed(FILE, { actor: 'anna', startAt: LATER, stages: STAGES });
  const run = await desk.submit(FILE, { actor: 'bob', startAt: LATER + 1, stages: { ...STAGES, sizes: '2,rest' } });
  expect(run).toMatchObject({ startAt: LATER, stagePlan: STAGES });
});

test('the bound on the cost holds after a kill before the audit log tells of it', async () => {
  const asked = { actor: 'anna', maxCostDriftBp: 0n, stages: STAGES, startAt: LATER };
  await killed(FILE, asked, { ...dyingEarly(desk.app), ...PRICED });
  const { id } = await desk.submit(FILE, { actor: 'bob', deps: { ...desk.app, ...PRICED } });
  expect((await payoutAt(desk.app.ledger, { runId: id, line: 2 })).costLimit).not.toBeNull();
});

test('the bound on the cost holds after a kill while other bytes take the rows over', async () => {
  await killed(FILE, { actor: 'anna', maxCostDriftBp: 0n }, { ...dying(desk.app), ...PRICED });
  await killed(reversed(FILE), { actor: 'bob' }, { ...dyingEarly(later(desk.app)), ...PRICED });
  const { id } = await desk.submit(reversed(FILE), { actor: 'carol', deps: { ...later(desk.app), ...PRICED } });
  expect((await payoutAt(desk.app.ledger, { runId: id, line: 2 })).costLimit).not.toBeNull();
});

test.each([
  ['the same bytes', {}],
  ['--again', { again: true }],
])('a take-over that was killed half-way keeps time and stages for %s', async (_how, given) => {
  await killed(FILE, { actor: 'anna', startAt: LATER, stages: STAGES });
  const app = later(desk.app);
  let claims = 0;
  const claim: App['ledger']['runs']['claim'] = async (asked) => {
    claims++;
    if (claims === 2) throw new Error('killed');
    return await app.ledger.runs.claim(asked);
  };
  const half = { ...app, ledger: { ...app.ledger, runs: { ...app.ledger.runs, claim } } };
  await killed(reversed(FILE), { actor: 'bob' }, half);
  const run = await desk.submit(FILE, { actor: 'carol', deps: app, ...given });
  expect(run).toMatchObject({ state: 'paused', startAt: LATER, stages: { at: 0 } });
});

test('rows that were taken over twice keep their time', async () => {
  await killed(FILE, { actor: 'anna', startAt: LATER });
  await killed(reversed(FILE), { actor: 'bob' }, dying(later(desk.app)));
  const run = await desk.submit(OTHER_BYTES, { actor: 'carol', deps: later(desk.app, 2) });
  expect(run).toMatchObject({ state: 'paused', startAt: LATER });
});

test('a bound on the cost that whoever carries a hand-in on says is not noted where rows are recorded without', async () => {
  await killed(FILE, { actor: 'anna' });
  await desk.rests();
  const run = await desk.submit(FILE, { actor: 'bob', maxCostDriftBp: 0n, deps: { ...desk.app, ...PRICED } });
  expect(run).toMatchObject({ state: 'paying', maxCostDriftBp: null });
});

test('a time that somebody says while another person records slowly holds', async () => {
  const stands = new AbortController();
  const goesOn = new AbortController();
  const { runs } = desk.app.ledger;
  const record: typeof runs.record = async (...args) => {
    stands.abort();
    await once(goesOn.signal, 'abort');
    return await runs.record(...args);
  };
  const slow = { ...desk.app, ledger: { ...desk.app.ledger, runs: { ...runs, record } } };
  const anna = desk.submit(FILE, { actor: 'anna', deps: slow });
  await once(stands.signal, 'abort');
  // More than a minute, as where each row is quoted first, or where the process was frozen.
  await desk.rests();
  await killed(FILE, { actor: 'bob', startAt: LATER });
  goesOn.abort();
  expect(await anna).toMatchObject({ state: 'paused', startAt: LATER });
});
