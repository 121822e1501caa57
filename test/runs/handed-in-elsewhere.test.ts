import { expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { FILE, useHandIns } from './hand-in-desk.ts';

const desk = useHandIns();
const STAGES = { sizes: '1,rest', goesOnIfPaid: false };

/** Somebody signs in at the pages of the office, or downloads a report there, before a worker has compared. */
async function signInAt(office: App): Promise<void> {
  await office.ledger.audit.append({ actor: 'bob', action: 'user.signed-in', target: 'user bob', details: {} });
}

test.each([
  ['from a host without a copy of the audit log', {}, {}],
  ['at the pages of the same host', { key: 'upload-1' }, { key: 'upload-2' }],
  ['at the pages of another host', { key: 'upload-1' }, { key: 'upload-2' }],
] as const)(
  'stages, the bound on the cost and who handed a file in are kept where it is handed in again %s',
  async (where, key, laterKey) => {
    const { app } = desk;
    const office = await desk.openHost('office');
    const putBack = await desk.copy();
    const run = await desk.submit(FILE, { stages: STAGES, maxCostDriftBp: 50n, ...key });
    expect([run.stages?.ends[0]?.line, run.createdBy]).toEqual([2, 'mia']);
    await putBack();
    await signInAt(office);
    // The worker compares, and halts everything.
    await desk.compares();
    // As the runbook says, each file that came after the copy is handed in again, by whoever is there.
    const deps = where.endsWith('the same host') ? app : office;
    const again = await desk.submit(FILE, { actor: 'bob', deps, ...laterKey });
    expect(again.id).toBe(run.id);
    const { payout } = await app.ledger.payouts.read({ runId: run.id, line: 2 });
    expect.soft(payout?.costLimit).toMatchObject({ driftBp: 50n });
    expect.soft(again.createdBy).toBe('mia');
    expect(again.stages?.ends[0]?.line).toBe(2);
  },
);

test('stages are kept where another directory, which has no copy of that entry yet, compares its intent lines first', async () => {
  const { app } = desk;
  const { state } = app.ledger;
  const office = await desk.openHost('office');
  const putBack = await desk.copy();
  const run = await desk.submit(FILE, { stages: STAGES, maxCostDriftBp: 50n });
  await putBack();
  await signInAt(office);
  const { server: now } = await state.season();
  // Another worker host had armed the first row before its copies of the log had the hand-in, and compares first.
  const line = {
    r: run.id,
    l: 2,
    s: run.fileSha256,
    n: run.contentHash,
    h: 'ff'.repeat(16),
    q: 'q-1',
    x: '',
    k: 1,
    c: 1,
    o: 'b',
    t: Date.now() - 1000,
    f: '',
  };
  const other = { dataDirId: 'dir-b', server: now, peers: [] };
  expect((await state.compare({ ...other, last: false, json: JSON.stringify([line]) })).result).toBe('compared');
  // Then the directory that has the copy.
  await desk.compares();
  await state.compare({ ...other, last: true, json: '[]' });
  const again = await desk.submit(FILE, { actor: 'bob', deps: office });
  expect(again.id).toBe(run.id);
  expect.soft(again.createdBy).toBe('mia');
  expect(again.stages?.ends[0]?.line).toBe(2);
});
