import { expect, test } from 'vitest';
import { payoutFile } from '../cli/payrun.ts';
import { FILE, fileOf, useHandIns } from './hand-in-desk.ts';
import { armPayout, movePayout, payoutAt } from './recorded-run.ts';

const desk = useHandIns();

const THIRD = payoutFile([
  ['S-0', '10.50'],
  ['T-1', '1.00'],
]);

test.each(['cancelled before it is sent', 'rejected at its quote'])(
  'a row that people allow beside the paid one of its reference, and that is %s, does not give that reference free',
  async (end) => {
    const { ledger } = desk.app;
    const { id: first } = await desk.submit(FILE);
    await armPayout(ledger, { runId: first, line: 2 }, 'quote-first');
    await movePayout(ledger, { runId: first, line: 2 }, 'accepted', 'completed');

    const { id: second } = await desk.submit(fileOf(1), { name: 'second.csv' });
    const place = { runId: second, line: 2 };
    expect(await payoutAt(ledger, place)).toMatchObject({ state: 'held', reasonCode: 'E_DUP_HISTORY' });
    await desk.allow(place);
    expect((await payoutAt(ledger, place)).state).toBe('ready');
    if (end.startsWith('cancelled')) await desk.cancelRow(ledger, second, 'S-0');
    else await movePayout(ledger, place, 'rejected');

    const { id: third } = await desk.submit(THIRD, { name: 'third.csv' });
    expect(await payoutAt(ledger, { runId: third, line: 2 })).toMatchObject({
      state: 'held',
      reasonCode: 'E_DUP_HISTORY',
    });
  },
);

test('a row that people allow beside one that may have been paid does not give their reference free, once that one was paid', async () => {
  const { ledger } = desk.app;
  const { id: first } = await desk.submit(FILE);
  const before = { runId: first, line: 2 };
  await armPayout(ledger, before, 'quote-first');
  await movePayout(ledger, before, 'unknown');

  const { id: second } = await desk.submit(fileOf(1), { name: 'second.csv' });
  await desk.allow({ runId: second, line: 2 });
  await movePayout(ledger, before, 'accepted', 'completed');
  await desk.cancelRow(ledger, second, 'S-0');

  const { id: third } = await desk.submit(THIRD, { name: 'third.csv' });
  expect(await payoutAt(ledger, { runId: third, line: 2 })).toMatchObject({
    state: 'held',
    reasonCode: 'E_DUP_HISTORY',
  });
});
