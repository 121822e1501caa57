import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

const ROWS_PER_PIECE = 1000;
const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency,purposeCode\n';

/** What a file's rows are called, so that no two files of a benchmark have a reference in common. */
export interface FileShape {
  readonly name: string;
  readonly rows: number;
}

/** A row's reference. */
export function referenceOf(name: string, row: number): string {
  return `${name}-${String(row).padStart(7, '0')}`;
}

/** A row's amount, in US dollars. */
export function amountOf(row: number): string {
  return `${(row % 9000) + 1}.25`;
}

function* fileText({ name, rows }: FileShape): Generator<string> {
  const own = createHash('sha256').update(name).digest('hex').slice(0, 12);
  yield HEADER;
  for (let from = 0; from < rows; from += ROWS_PER_PIECE) {
    const lines = Array.from({ length: Math.min(ROWS_PER_PIECE, rows - from) }, (_, at) =>
      line(name, { own, row: from + at }),
    );
    yield lines.join('');
  }
}

/** Each row has a beneficiary of its own, whom no other file pays: none of them is a likely duplicate. */
function line(name: string, { own, row }: { own: string; row: number }): string {
  const beneficiary = `${own.slice(0, 8)}-${own.slice(8)}-4ef5-a284-${row.toString(16).padStart(12, '0')}`;
  return `${referenceOf(name, row)},${beneficiary},${amountOf(row)},USD,MXN,OTHR\n`;
}

/** Writes a payout file of valid rows. */
export async function writePayoutFile(path: string, shape: FileShape): Promise<void> {
  await pipeline(fileText(shape), createWriteStream(path));
}
