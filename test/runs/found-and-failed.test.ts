import { expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { payoutFile } from '../cli/payrun.ts';
import { FILE, fileOf, useHandIns } from './hand-in-desk.ts';
import { armPayout, movePayout, payoutAt } from './recorded-run.ts';

const desk = useHandIns();

test('a payment that is found after all, and that fails then, does not give free the reference by which another row was paid', async () => {
  const { ledger } = desk.app;
  const { id: first } = await desk.submit(FILE);
  const place = { runId: first, line: 2 };
  await armPayout(ledger, place, 'quote-first');
  await movePayout(ledger, place, 'rejected');
  const note = { ...place, actor: 'test', reason: '' } as const;
  await ledger.payouts.move({ ...note, values: { rejectionConfirmed: true } });

  const { id: retry } = await desk.submit(fileOf(1), { name: 'retry.csv' });
  const second = { runId: retry, line: 2 };
  await armPayout(ledger, second, 'quote-second');
  await movePayout(ledger, second, 'accepted', 'completed');

  const { row } = await payoutAt(ledger, place);
  await ledger.payouts.move({ ...note, to: 'accepted', referenceHash: hashReference(row.reference) });
  await movePayout(ledger, place, 'failed');

  const rows = [
    ['S-0', '10.50'],
    ['T-1', '1.00'],
  ] as const;
  const { id: third } = await desk.submit(payoutFile(rows), { name: 'third.csv' });
  expect(await payoutAt(ledger, { runId: third, line: 2 })).toMatchObject({
    state: 'held',
    reasonCode: 'E_DUP_HISTORY',
  });
});
