import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkPayoutFile } from '../../src/intake/check-file.ts';
import { readPayoutFile } from '../../src/intake/read-file.ts';
import { MISTAKES, makeSamples } from '../support/make-samples.ts';
import { collect } from './payout-text.ts';

const folder = join(import.meta.dirname, '../../samples');
const samples = makeSamples();

if (process.env['UPDATE_SAMPLES'] === '1') {
  for (const [name, text] of samples) writeFileSync(join(folder, name), text);
}

describe('the sample files', () => {
  test.each([...samples.keys()])('%s is what the generator makes', (name) => {
    expect(readFileSync(join(folder, name), 'utf8')).toBe(samples.get(name));
  });

  test.each([
    ['payouts.csv', 1000],
    ['small.csv', 10],
    ['third-party.csv', 20],
  ])('%s is accepted as a whole with %i rows', async (name, rows) => {
    const checked = await checkPayoutFile(join(folder, name));
    expect(checked).toMatchObject({ rows, valid: rows, problems: [], warnings: [], fileRefused: false });
    expect(checked.validTotals).toEqual(checked.totals);
  });

  test('payouts.csv shows several corridors, both amount types and third-party payments, and no suspected duplicate', async () => {
    const path = join(folder, 'payouts.csv');
    const rows = await collect(readPayoutFile(path, await checkPayoutFile(path)));
    const payouts = rows.filter((row) => 'reference' in row);
    expect(new Set(payouts.map((row) => `${row.sourceCurrency} ${row.destinationCurrency}`)).size).toBe(10);
    expect(new Set(payouts.map((row) => row.amountType)).size).toBe(2);
    expect(payouts.filter((row) => row.originatorIdentityId !== null).length).toBeGreaterThan(50);
    const likeness = payouts.map((row) => `${row.beneficiaryIdentityId} ${row.amount.minor} ${row.amount.currency}`);
    expect(new Set(likeness).size).toBe(payouts.length);
  });

  test('third-party.csv names an originator in each row', async () => {
    const path = join(folder, 'third-party.csv');
    const rows = await collect(readPayoutFile(path, await checkPayoutFile(path)));
    expect(rows.every((row) => 'originatorIdentityId' in row && row.originatorIdentityId !== null)).toBe(true);
  });

  test('mistakes.csv has exactly the mistakes that it is made to show', async () => {
    const checked = await checkPayoutFile(join(folder, 'mistakes.csv'));
    const codes = MISTAKES.map((_, at) =>
      checked.problems.filter(({ line }) => line === at + 2).map(({ code }) => code),
    );
    expect(codes.map((row) => row.toSorted())).toEqual(MISTAKES.map((mistake) => mistake.codes));
    expect(checked).toMatchObject({ rows: MISTAKES.length, valid: 2, fileRefused: false });
  });
});
