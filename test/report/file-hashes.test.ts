import { describe, expect, test } from 'vitest';
import { openContentHash } from '../../src/intake/row/row-hash.ts';
import type { Payout } from '../../src/payout.ts';
import type { OnRecord } from '../../src/report/signing/file-hashes.ts';
import { type ReportSummary, summarise } from '../../src/report/summary.ts';
import { summaryText } from '../../src/report/summary-text.ts';
import { payment, payout, type Row, refused, runOf, sourceOf } from './rows.ts';

const ROWS: readonly Payout[] = [payment(2, 'completed'), payout(3), payment(4, 'failed')];
const FILE = runOf(ROWS).fileSha256;

/** The hash of the rows as intake makes it of the file. */
function handedIn(rows: readonly Payout[]): string {
  const content = openContentHash();
  for (const { row } of rows) content.addRow(row);
  return content.digest();
}

async function check(rows: readonly Row[], onRecord: Partial<OnRecord> = {}): Promise<ReportSummary> {
  const record = { rowsHandedIn: handedIn(ROWS), rowsAccepted: [], approved: [FILE], ...onRecord };
  return await summarise(sourceOf(rows, { run: runOf(rows), onRecord: record }));
}

test('file hash, approved hash and the hash over the rows in the ledger are those of one file', async () => {
  const { ties, hashes } = await check(ROWS);
  const rows = handedIn(ROWS);
  expect({ ties, hashes }).toEqual({
    ties: true,
    hashes: { file: FILE, approved: [FILE], rowsHandedIn: rows, rowsAccepted: rows, rowsInLedger: rows, rows: 'same' },
  });
});

test('the order of the rows does not matter', async () => {
  expect((await check(ROWS, { rowsHandedIn: handedIn(ROWS.toReversed()) })).ties).toBe(true);
});

test('one that was approved before another file of the same rows stood for it is no fault', async () => {
  const former = 'f'.repeat(64);
  const { ties, hashes } = await check(ROWS, { approved: [FILE, former, FILE] });
  expect({ ties, approved: hashes.approved }).toEqual({ ties: true, approved: [former, FILE] });
});

describe('a report does not tie', () => {
  test.each([{ beneficiaryIdentityId: '0'.repeat(36) }, { reference: 'INV-X' }])(
    'when a row of the ledger is not the one that was handed in: %o',
    async (change) => {
      const changed = { ...payout(3), row: { ...payout(3).row, ...change } };
      const { ties, conservation } = await check(ROWS.map((one) => (one.line === 3 ? changed : one)));
      expect({ ties, faults: conservation.faults }).toEqual({
        ties: false,
        faults: ['hashes: the rows in the ledger are not those that were handed in'],
      });
    },
  );

  test('when another file was approved', async () => {
    const other = 'f'.repeat(64);
    const { ties, conservation } = await check(ROWS, { approved: [FILE, other] });
    expect({ ties, faults: conservation.faults }).toEqual({
      ties: false,
      faults: [`hashes: the file is ${FILE}, and approved was ${other}`],
    });
  });
});

describe('with refused rows', () => {
  const all = 'c'.repeat(64);
  const rows = [...ROWS, refused(5)];

  test('those that were accepted are compared with the hash of them on record', async () => {
    const rowsAccepted = handedIn(ROWS);
    const { ties, hashes } = await check(rows, { rowsHandedIn: all, rowsAccepted: [rowsAccepted] });
    expect({ ties, hashes }).toMatchObject({ ties: true, hashes: { rows: 'same', rowsAccepted } });
    const other = rows.map((one) =>
      one.line === 3 ? { ...payout(3), row: { ...payout(3).row, reference: 'X' } } : one,
    );
    const changed = await check(other, { rowsHandedIn: all, rowsAccepted: [rowsAccepted] });
    expect(changed).toMatchObject({ ties: false, hashes: { rows: 'other' } });
  });

  test('of which others were accepted when the file was handed in again, either hash is one of the run', async () => {
    const rowsAccepted = [handedIn(ROWS), handedIn(ROWS.slice(0, 2))];
    expect(await check(rows, { rowsHandedIn: all, rowsAccepted })).toMatchObject({ hashes: { rows: 'same' } });
  });

  test('of which no hash is on record, it is said that they are not compared', async () => {
    const summary = await check(rows, { rowsHandedIn: all });
    expect(summary).toMatchObject({ hashes: { rows: 'not compared', rowsAccepted: null } });
    expect(summaryText(summary)).toMatch(/rows in the ledger +not compared/);
  });
});

test('where the audit log does not say, it is said that the rows are not compared', async () => {
  const summary = await check(ROWS, { rowsHandedIn: null });
  expect(summary).toMatchObject({ hashes: { rows: 'not compared', rowsHandedIn: null } });
  expect(summaryText(summary)).toMatch(/rows in the ledger +not compared/);
});
