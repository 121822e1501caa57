import { expect, test } from 'vitest';
import { finishRun } from '../../src/runs/after/finish.ts';
import { pauseRun } from '../../src/runs/decide/control.ts';
import { payoutFile } from '../cli/payrun.ts';
import { FILE, useHandIns } from './hand-in-desk.ts';
import { armPayout, movePayout } from './recorded-run.ts';

const desk = useHandIns();
const SECOND = payoutFile([
  ['S-0', '10.50'],
  ['T-1', '1.00'],
]);

test('a run that people paused stays so when its last open row ends and one that was held is allowed', async () => {
  const { ledger } = desk.app;
  await desk.submit(FILE);
  const { id } = await desk.submit(SECOND, { name: 'second.csv' });
  await armPayout(ledger, { runId: id, line: 3 }, 'quote-t');
  const stop = { actor: 'carl', reason: 'nothing more of this is paid before I looked at it' };
  await pauseRun({ ledger, wake: async () => {} }, id, stop);
  await movePayout(ledger, { runId: id, line: 3 }, 'accepted', 'completed');
  expect(await finishRun(ledger, id)).toBe(false);

  await desk.allow({ runId: id, line: 2 });
  expect((await ledger.runs.read(id))?.state).toBe('paused');
});

test('a run that waits for its time, and of which all rows are held, is not paid before it when one is allowed', async () => {
  const { ledger } = desk.app;
  await desk.submit(FILE);
  const startAt = Date.now() + 86_400_000;
  const { id } = await desk.submit(payoutFile([['S-0', '10.50']]), { name: 'later.csv', startAt });
  expect(await finishRun(ledger, id)).toBe(false);
  await desk.allow({ runId: id, line: 2 });
  expect(await ledger.runs.read(id)).toMatchObject({ state: 'paused', startAt });
});
