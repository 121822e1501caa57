import { describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { cancelRun, findPayout, pauseRun } from '../../src/runs/decide/control.ts';
import { DAY_MS, FILE, reversed, useHandIns } from './hand-in-desk.ts';
import { movePayout } from './recorded-run.ts';

const desk = useHandIns();
const BY = { actor: 'anna', reason: 'wrong invoice' };
const noWake = async (): Promise<void> => {};

/** Hands the file in with a time that is far ahead. */
async function submitAhead(given: { readonly again?: boolean } = {}): Promise<string> {
  return (await desk.submit(FILE, { startAt: Date.now() + DAY_MS, ...given })).id;
}

async function stateOf(runId: string): Promise<string | undefined> {
  return (await desk.app.ledger.runs.read(runId))?.state;
}

/** The state of the row with this reference, and whether it was given up. */
async function stands(runId: string, reference: string) {
  const payout = await findPayout(desk.app.ledger, runId, reference);
  return { state: payout?.state, givenUp: payout?.givenUp };
}

const TO_BE_PAID = { state: 'ready', givenUp: false };

/** A run that the copy has. After the copy it starts, and the service refuses each quote; then the file is handed in once more. */
async function runOfTheCopy() {
  const first = await submitAhead();
  const putBack = await desk.copy();
  await desk.app.ledger.runs.move(first, { to: 'paying', actor: 'payrun', reason: '' });
  for (const line of [2, 3, 4, 5]) await movePayout(desk.app.ledger, { runId: first, line }, 'rejected');
  expect(await finishRun(desk.app.ledger, first)).toBe(true);
  const second = await submitAhead({ again: true });
  expect(second).not.toBe(first);
  return { first, second, putBack };
}

async function compareInOrder(...hosts: readonly App[]): Promise<void> {
  for (const host of hosts) await desk.compares(host);
}

describe('a row that people cancelled after the copy', () => {
  test('is not paid because the same rows come in another order: its line is that of another row then', async () => {
    const putBack = await desk.copy();
    const run = await submitAhead();
    await desk.cancelRow(desk.app.ledger, run, 'S-0');
    await putBack();
    await desk.compares();
    // The very bytes are gone; the rows are exported anew, in another order.
    expect((await desk.submit(reversed(FILE))).id).toBe(run);
    expect(await stands(run, 'S-0')).not.toEqual(TO_BE_PAID);
  });

  test('is not paid by the run that the copy has of the same file, which was over by then and handed in again', async () => {
    const { first, second, putBack } = await runOfTheCopy();
    await desk.cancelRow(desk.app.ledger, second, 'S-0');
    await putBack();
    await desk.compares();
    // What the two who release and whoever resumes find: the first run waits as it did, and all of its rows are to be paid.
    expect(await stateOf(first)).toBe('paused');
    expect(await stands(first, 'S-0')).not.toEqual(TO_BE_PAID);
  });

  test('is given up where the office alone knows so, although the file was recorded in another order by then', async () => {
    const office = await desk.openHost('office');
    const putBack = await desk.copy();
    const run = await submitAhead();
    await desk.cancelRow(office.ledger, run, 'S-0');
    await putBack();
    await desk.compares();
    expect((await desk.submit(reversed(FILE))).id).toBe(run);
    await desk.compares(office);
    expect(await stands(run, 'S-0')).not.toEqual(TO_BE_PAID);
  });

  test('is given up where the office alone knows so and compares first', async () => {
    const office = await desk.openHost('office');
    const putBack = await desk.copy();
    const run = await submitAhead();
    await desk.cancelRow(office.ledger, run, 'S-0');
    await putBack();
    await compareInOrder(office, desk.app, office);
    expect((await desk.submit(FILE)).id).toBe(run);
    expect(await stands(run, 'S-0')).not.toEqual(TO_BE_PAID);
  });
});

describe('a file whose second run people cancelled after the copy is not paid by its first run, which the copy has', () => {
  test('where the worker knows of the cancel', async () => {
    const { first, second, putBack } = await runOfTheCopy();
    await cancelRun(desk.app, second, BY);
    await putBack();
    await desk.compares();
    const { state, startAt } = (await desk.app.ledger.runs.read(first)) ?? {};
    expect({ state, startAt }).toEqual({ state: 'cancelled', startAt: null });
  });

  test.each(['worker', 'office'])('where the office alone knows of it, and the %s compares first', async (earliest) => {
    const office = await desk.openHost('office');
    const { first, second, putBack } = await runOfTheCopy();
    await cancelRun(office, second, BY);
    await putBack();
    await (earliest === 'worker' ? compareInOrder(desk.app, office) : compareInOrder(office, desk.app, office));
    expect(await stateOf(first)).toBe('cancelled');
  });

  test('where it was paused on one host and cancelled on another', async () => {
    const office = await desk.openHost('office');
    const { first, second, putBack } = await runOfTheCopy();
    const third = await desk.openHost('third');
    await pauseRun({ ledger: third.ledger, wake: noWake }, second, BY);
    await cancelRun(office, second, BY);
    await putBack();
    await compareInOrder(office, third, desk.app);
    expect(await stateOf(first)).toBe('cancelled');
  });
});

describe('a run that people stopped where its hand-in is not known yet', () => {
  test.each([
    ['only the office knows so', false],
    ['the worker has a copy of that entry', true],
  ])('stays cancelled, where %s and the office compares first', async (_what, isCopied) => {
    const { app } = desk;
    const office = await desk.openHost('office');
    const putBack = await desk.copy();
    const run = await submitAhead();
    await cancelRun(office, run, BY);
    expect(await stateOf(run)).toBe('cancelled');
    // What a worker does every few seconds.
    if (isCopied) await app.ledger.audit.copyOthers();
    await putBack();
    await compareInOrder(office, app, office);
    const again = await desk.submit(FILE).catch(async () => await app.ledger.runs.read(run));
    expect(again?.id).toBe(run);
    expect(await stateOf(run)).toBe('cancelled');
  });

  test('has no rows that count as given up, where it was paused only', async () => {
    const office = await desk.openHost('office');
    const putBack = await desk.copy();
    const run = await desk.submit(FILE);
    await pauseRun({ ledger: office.ledger, wake: noWake }, run.id, BY);
    await putBack();
    await compareInOrder(office, desk.app);
    expect((await desk.submit(FILE)).id).toBe(run.id);
    expect((await desk.app.ledger.runs.read(run.id))?.counts).toMatchObject({ ready: 4, held: 0 });
  });
});

/** After an adoption each directory compares its copies as those of a lost ledger. */
async function comparesAsFormer({ ledger, clock }: App): Promise<void> {
  const { audit } = ledger;
  const missing = async () => ({ former: (await audit.missing()).ours, ours: [] });
  await desk.compares({ ledger: { ...ledger, audit: { ...audit, missing } }, clock });
}

test.each([
  ['the worker has copied the cancel', 'office', 'worker'],
  ['the worker has copied the cancel', 'worker', 'office'],
  ['only the office has it', 'office', 'worker'],
] as const)(
  'a run that was cancelled before its ledger was lost is not paid (%s; compared in the order %s, %s)',
  async (what, earlier, later) => {
    const hosts = { office: await desk.openHost('office'), worker: desk.app };
    const putBack = await desk.copy();
    const run = await submitAhead();
    await cancelRun(hosts.office, run, BY);
    if (what.includes('copied')) await desk.app.ledger.audit.copyOthers();
    await putBack();
    for (const name of [earlier, later]) await comparesAsFormer(hosts[name]);
    await desk.submit(FILE).catch(() => {});
    const paid = (await desk.runs()).filter(({ counts, state }) => counts.ready > 0 && state !== 'cancelled');
    expect(paid).toHaveLength(0);
  },
);

/** Two people allow the row that is held; later Redis loses a second in which something else was decided. */
async function allowAndGoBack(runId: string): Promise<void> {
  const { ledger } = desk.app;
  const held = await findPayout(ledger, runId, 'S-0');
  expect(held?.state).toBe('held');
  const place = { runId, line: held?.line ?? 0 };
  const reason = 'it is right after all';
  const allowed = await ledger.payouts.move({ ...place, to: 'ready', actor: 'anna and bob', reason, dueMs: 0 });
  expect(allowed.result).toBe('moved');
  const back = await desk.copy();
  await ledger.audit.append({ actor: 'mia', action: 'schedule.set', target: 'schedule x', details: {} });
  await back();
  await desk.compares();
}

/** The office cancels S-0; both compare before the file is handed in again. */
async function stopAhead(): Promise<string> {
  const office = await desk.openHost('office');
  const putBack = await desk.copy();
  const run = await submitAhead();
  await desk.cancelRow(office.ledger, run, 'S-0');
  await putBack();
  await compareInOrder(office, desk.app);
  return run;
}

describe('a row that was stopped before its run was known again, and that people allowed since', () => {
  test('is not held again by each later comparison', async () => {
    const run = await stopAhead();
    expect((await desk.submit(FILE)).id).toBe(run);
    await allowAndGoBack(run);
    expect((await findPayout(desk.app.ledger, run, 'S-0'))?.state).toBe('ready');
  });

  test('does not have its run cancelled by each later comparison, where the rows came in another order', async () => {
    const run = await stopAhead();
    expect((await desk.submit(reversed(FILE), { name: 'other.csv' })).id).toBe(run);
    expect(await stateOf(run)).toBe('paused');
    await allowAndGoBack(run);
    expect(await stateOf(run)).toBe('paused');
  });
});
