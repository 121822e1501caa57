import { Refusal } from '../refusal.ts';

interface Wanted {
  readonly format: string;
  readonly output: string | undefined;
  readonly bom: boolean;
}

/** Refuses (exit 2) a workbook or a PDF for a terminal, and a byte order mark for another format than CSV. */
export function requireTableFormat({ format, output, bom }: Wanted): void {
  if (bom && format !== 'csv') {
    throw new Refusal('--bom is for --format csv.', 'Leave one of them out.');
  }
  if ((format === 'xlsx' || format === 'pdf') && output === undefined && process.stdout.isTTY) {
    throw new Refusal('A terminal cannot show a workbook or a PDF.', 'Name a file with --output.');
  }
}
