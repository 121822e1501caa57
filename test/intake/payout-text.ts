import { type CheckedFile, checkPayoutSource, type IntakeOptions } from '../../src/intake/check-file.ts';
import type { PayoutSource } from '../../src/intake/payout-source.ts';

export const COLUMNS = [
  'reference',
  'beneficiaryIdentityId',
  'amount',
  'sourceCurrency',
  'destinationCurrency',
  'originatorIdentityId',
  'amountType',
  'destinationCountry',
  'payoutCategory',
  'purposeCode',
  'sourceOfCash',
] as const;
export const HEADER = COLUMNS.join(',');
export const UUID = '3e7a9d24-0b6c-4f18-a52d-9c4be8f1d073';
export const UUID_2 = '11111111-2222-4333-8444-aaaaaaaaaaaa';

export type Cells = Partial<Record<(typeof COLUMNS)[number], string>>;

const SOUND: Cells = {
  beneficiaryIdentityId: UUID,
  amount: '100.00',
  sourceCurrency: 'USD',
  destinationCurrency: 'MXN',
};

/** One line of a file without its line end; cells are written as they are given, without quoting. */
export function line(cells: Cells): string {
  const row = { ...SOUND, ...cells };
  return COLUMNS.map((column) => row[column] ?? '').join(',');
}

/** A file with a header and these lines, each with a line end. */
export function file(...lines: string[]): string {
  return [HEADER, ...lines, ''].join('\n');
}

/** The bytes cut into pieces of this size; the same buffer is used for each, as reading a file does. */
export function sourceOf(bytes: Buffer | string, pieceBytes = 64 * 1024): PayoutSource {
  const all = typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : bytes;
  return {
    name: 'test.csv',
    bytes: null,
    async *chunks() {
      const piece = Buffer.alloc(pieceBytes);
      for (let at = 0; at < all.length; at += pieceBytes) {
        const copied = all.copy(piece, 0, at, at + pieceBytes);
        yield piece.subarray(0, copied);
      }
    },
  };
}

export function check(bytes: Buffer | string, options: IntakeOptions = {}): Promise<CheckedFile> {
  return checkPayoutSource(sourceOf(bytes), options);
}

/** All that an asynchronous generator of batches gives. */
export async function collect<T>(batches: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const batch of batches) all.push(...batch);
  return all;
}
