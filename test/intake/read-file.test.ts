import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { checkPayoutFile } from '../../src/intake/check-file.ts';
import { readPayoutFile } from '../../src/intake/read-file.ts';
import { Refusal } from '../../src/refusal.ts';
import { collect, file, line, UUID, UUID_2 } from './payout-text.ts';

const folder = mkdtempSync(join(tmpdir(), 'payrun-intake-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function put(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const manyRows = (count: number): string =>
  file(
    ...Array.from({ length: count }, (_, at) => line({ reference: `INV-${at}`, amount: at % 100 === 7 ? 'x' : '10' })),
  );

describe('the second pass', () => {
  test('gives each row that was checked, in file order, in batches of at most 500', async () => {
    const path = put('many.csv', manyRows(1201));
    const checked = await checkPayoutFile(path);
    const sizes: number[] = [];
    const lines: number[] = [];
    let refused = 0;
    for await (const batch of readPayoutFile(path, checked)) {
      sizes.push(batch.length);
      for (const row of batch) lines.push(row.line);
      refused += batch.filter((row) => 'code' in row).length;
    }
    expect(sizes).toEqual([500, 500, 201]);
    expect(lines).toEqual(Array.from({ length: 1201 }, (_, at) => at + 2));
    expect([lines.length - refused, refused]).toEqual([checked.valid, checked.problemsTotal]);
  });

  test('gives a valid row as a payout and a refused one with its cells, its amount and its first problem', async () => {
    const path = put(
      'mixed.csv',
      file(
        line({
          reference: 'INV-1',
          beneficiaryIdentityId: UUID.toUpperCase(),
          originatorIdentityId: UUID_2,
          amount: '5',
        }),
        line({
          reference: 'INV-2',
          purposeCode: '?',
          amountType: 'DESTINATION_AMOUNT',
          destinationCurrency: 'JPY',
        }).replace('100.00', '700'),
        line({ reference: 'INV-3' }),
        line({ reference: 'inv-3', amount: '0' }),
      ),
    );
    const checked = await checkPayoutFile(path);
    const rows = await collect(readPayoutFile(path, checked));
    expect(rows).toEqual([
      {
        line: 2,
        reference: 'INV-1',
        beneficiaryIdentityId: UUID,
        originatorIdentityId: UUID_2,
        amount: { minor: 500n, currency: 'USD' },
        amountType: 'SOURCE_AMOUNT',
        sourceCurrency: 'USD',
        destinationCurrency: 'MXN',
        sourceCountry: null,
        destinationCountry: null,
        payoutCategory: null,
        payinCategory: null,
        purposeCode: null,
        sourceOfCash: null,
      },
      expect.objectContaining({ line: 3, code: 'E_PURPOSE_CODE', amount: { minor: 700n, currency: 'JPY' } }),
      expect.objectContaining({ line: 4, code: 'E_DUP_REF', amount: { minor: 10_000n, currency: 'USD' } }),
      expect.objectContaining({ line: 5, code: 'E_AMOUNT_RANGE', amount: null }),
    ]);
    expect(rows[2]).toMatchObject({ cells: { reference: 'INV-3', amount: '100.00', originatorIdentityId: '' } });
    expect(checked).toMatchObject({
      rows: 4,
      valid: 1,
      totals: [
        { currency: 'JPY', minor: 700n },
        { currency: 'USD', minor: 10_500n },
      ],
      validTotals: [{ currency: 'USD', minor: 500n }],
    });
  });

  test('#70 sums are exact beyond what a floating-point number holds', async () => {
    const rows = Array.from({ length: 300 }, (_, at) => line({ reference: `INV-${at}`, amount: '99999999.99' }));
    const checked = await checkPayoutFile(put('sums.csv', file(...rows)));
    expect(checked.totals).toEqual([{ currency: 'USD', minor: 300n * 9_999_999_999n }]);
  });

  test('refuses a file that changed since it was checked, and keeps its last rows back', async () => {
    const path = put('changing.csv', manyRows(600));
    const checked = await checkPayoutFile(path);
    appendFileSync(path, `${line({ reference: 'LATE' })}\n`);
    const lines: number[] = [];
    const reading = (async () => {
      for await (const batch of readPayoutFile(path, checked)) lines.push(...batch.map((row) => row.line));
    })();
    await expect(reading).rejects.toMatchObject({
      kind: 'fileRefused',
      message: expect.stringContaining('changed'),
    });
    expect(lines).toHaveLength(500);
  });

  test('gives nothing of a file whose structure was refused', async () => {
    const path = put('damaged.csv', file(line({ reference: 'INV-1' }), 'x'));
    const checked = await checkPayoutFile(path);
    await expect(collect(readPayoutFile(path, checked))).rejects.toBeInstanceOf(Refusal);
  });
});

describe('a file that cannot be read', () => {
  test.each([
    ['does not exist', 'missing.csv'],
    ['is a folder', '.'],
    ['does not exist', 'missing/../../x.csv'],
    ['cannot be read', 'nul\0.csv'],
    ['has too long a name', `${'x'.repeat(300)}.csv`],
  ])('#92 %s: refused with exit code 3', async (reason, name) => {
    await expect(checkPayoutFile(`${folder}/${name}`)).rejects.toMatchObject({
      name: 'Refusal',
      kind: 'fileRefused',
      message: expect.stringContaining(reason),
    });
  });

  test('a named pipe and a device are refused without waiting for anybody', async () => {
    execFileSync('sh', ['-c', 'mkfifo "$0"', join(folder, 'pipe.csv')]);
    await expect(checkPayoutFile(join(folder, 'pipe.csv'))).rejects.toThrow('is not a regular file');
    await expect(checkPayoutFile('/dev/null')).rejects.toThrow('is not a regular file');
  });
});
