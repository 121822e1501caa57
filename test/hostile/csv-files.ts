const HEADER = 'reference,beneficiaryIdentityId,amount,amountType,sourceCurrency,destinationCurrency\n';
const ROW = 'INV-1,00000000-0000-4000-8000-000000000001,100.00,SOURCE_AMOUNT,USD,MXN\n';

/** CSV files; the first problem of each. */
export const HOSTILE_CSV_FILES: readonly (readonly [what: string, make: () => Buffer, code: string])[] = [
  ['a header of 32,000 columns', () => Buffer.from(`${'a,'.repeat(32_000)}a\n`), 'E_HEADER'],
  ['a header of 60,000 characters between other marks', () => Buffer.from(`${'a;'.repeat(30_000)}a\n`), 'E_HEADER'],
  ['a header of one name, 900 times', () => Buffer.from(`${'amount,'.repeat(900)}a\n`), 'E_HEADER_DUP'],
  [
    'a million blank lines before a row',
    () => Buffer.from(HEADER + ROW + '\n'.repeat(1_000_000) + ROW.replace('1', '2')),
    'E_BLANK_ROW',
  ],
  [
    '200,000 empty lines of two kinds before a row',
    () => Buffer.from(HEADER + ROW + '\n,,,,,\n'.repeat(100_000) + ROW.replace('1', '2')),
    'E_BLANK_ROW',
  ],
  ['300,000 rows of one cell', () => Buffer.from(HEADER + 'x\n'.repeat(300_000)), 'E_COLUMNS'],
  [
    'a million rows, two of each reference',
    () => Buffer.from(HEADER + Array.from({ length: 1_000_000 }, (_, at) => ROW.replace('1', `${at >> 1}`)).join('')),
    'E_DUP_REF',
  ],
  ['rows of 60,000 cells', () => Buffer.from(HEADER + `${','.repeat(60_000)}\n`.repeat(100)), 'E_COLUMNS'],
  ['rows of 30,000 cells in quotes', () => Buffer.from(HEADER + `${'"",'.repeat(20_000)}\n`.repeat(100)), 'E_COLUMNS'],
  ['a quote that is never closed', () => Buffer.from(`${HEADER}"${'x\n'.repeat(1_000_000)}`), 'E_QUOTE'],
  ['one line without end', () => Buffer.from(HEADER + 'x'.repeat(10_000_000)), 'E_RECORD_SIZE'],
  [
    'amounts of 60,000 digits',
    () => Buffer.from(HEADER + `a,b,${'0'.repeat(60_000)}1,SOURCE_AMOUNT,USD,MXN\n`.repeat(100)),
    'E_BENEFICIARY',
  ],
];
