import { expect, test } from 'vitest';
import { pauseRun } from '../../src/runs/decide/control.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { allRows } from '../ledger/test-ledger.ts';
import { FILE, useHandIns } from './hand-in-desk.ts';

const desk = useHandIns();
const OTHER_BYTES = FILE.replaceAll('\n', '\r\n');

function killedAtC16(point: string): void {
  if (point === 'C16') throw new Error('killed');
}

/** The ledger goes back; two people release it; an hour later other bytes of the rows are handed in. */
async function takenOverAfter(putBack: () => Promise<void>): Promise<void> {
  const { app } = desk;
  await putBack();
  await desk.compares();
  for (const person of ['anna', 'bob']) await releaseHalt({ ledger: app.ledger }, person);
  const clock = { ...app.clock, now: () => Date.now() + 3_600_000 };
  await desk.submit(OTHER_BYTES, { name: 'again.csv', deps: { ...app, clock } }).catch(() => {});
}

test('a run that people paused after the copy, in which it was being recorded, is not paid because other bytes of its rows take it over', async () => {
  const { app } = desk;
  await expect(desk.submit(FILE, { deps: { ...app, at: killedAtC16 } })).rejects.toThrow('killed');
  const putBack = await desk.copy();
  const { id } = await desk.submit(FILE);
  await pauseRun(app, id, { actor: 'anna', reason: 'wrong amounts' });
  // Where Redis forgot nothing, other bytes of the same rows come to the paused run.
  expect(await desk.submit(OTHER_BYTES, { name: 'again.csv' })).toMatchObject({ id, state: 'paused' });
  await takenOverAfter(putBack);
  expect((await desk.runs()).filter(({ state }) => state === 'paying')).toEqual([]);
});

test('a row that people cancelled after the copy, in which its run had no rows yet, is not let go by other bytes that take the run over', async () => {
  const { app } = desk;
  const audit = { ...app.ledger.audit, append: async () => Promise.reject(new Error('killed')) };
  await expect(desk.submit(FILE, { deps: { ...app, ledger: { ...app.ledger, audit } } })).rejects.toThrow('killed');
  const putBack = await desk.copy();
  const { id } = await desk.submit(FILE);
  await desk.cancelRow(app.ledger, id, 'S-1');
  await takenOverAfter(putBack);
  const rows = await Promise.all((await desk.runs()).map((run) => allRows(app.ledger, run.id)));
  const states = rows.flat().flatMap((one) => ('row' in one && one.row.reference === 'S-1' ? [one.state] : []));
  expect(states).not.toContain('ready');
});
