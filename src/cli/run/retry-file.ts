import { z } from 'zod';
import { writeAtomically } from '../../files.ts';
import { marked } from '../../report/csv.ts';
import { findRetryRows, type RetryFile } from '../../runs/after/retry-file.ts';
import type { GivenOptions } from '../command.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { printAll, safeText, say, shellWord } from '../print.ts';
import { requireTableFormat } from '../table-format.ts';

const FORMATS = ['csv', 'xlsx'] as const;

const options = {
  format: ['<format>', 'csv, or xlsx: a workbook', FORMATS, 'csv'],
  bom: 'with csv: begin with a byte order mark, by which Excel knows UTF-8',
  output: ['<path>', 'write a file instead of standard output', z.string().min(1, 'must not be empty').optional()],
} as const;
type RetryOptions = GivenOptions<typeof options>;

/** `payrun retry-file`: the rows of a run that may be sent again, as a new payout file. */
export const retryFileCommand = ledgerCommand(
  'retry-file',
  {
    takes: { '<run>': 'the run' },
    options,
    help:
      'These are the rows that were rejected, failed, returned or cancelled, in the columns of the first file and as' +
      '\nits template reads them. A row that may still be paid is never among them. Rows that --skip-invalid left out were' +
      '\nnever valid: they are not in it either ("payrun validate --marked-up" shows how to fix them). When there are none,' +
      '\nno file is written.',
    examples: ['payrun retry-file 20260131-k3f9xq --output again.csv', 'payrun run again.csv'],
  },
  async (app, { run: runId, ...given }) => {
    const { output } = given;
    const found = await findRetryRows(app, runId);
    const content = contentOf(found, given);
    if (found.rows > 0 && output === undefined) await printAll(content);
    else if (found.rows > 0 && output !== undefined) await writeAtomically(output, content);
    say(safeText(`${describe(found, { runId, ...given })}\n${nextStep(found, { runId, ...given })}`));
  },
);

function nextStep(
  { rows, isWhole, template }: RetryFile,
  { runId, output }: { runId: string; output?: string | undefined },
): string {
  if (rows === 0) return `how far the run is -> payrun status ${runId}`;
  const words = [
    'payrun run',
    output === undefined ? 'FILE' : shellWord(output),
    ...(template === null ? [] : ['--template TEMPLATE']),
    ...(isWhole ? ['--again'] : []),
  ];
  return `pay them -> ${words.join(' ')}`;
}

function contentOf(found: RetryFile, { format, bom, output }: RetryOptions): AsyncIterable<string | Uint8Array> {
  requireTableFormat({ format, bom, output });
  return format === 'xlsx' ? found.workbook() : marked(found.text(), { bom });
}

function describe(
  found: RetryFile,
  { runId, output, format }: { runId: string } & Pick<RetryOptions, 'output' | 'format'>,
): string {
  const { rows, open, duplicates, refused, isWhole, template } = found;
  const written = output === undefined ? rowsText(rows) : `wrote ${output}: ${rowsText(rows)}`;
  return [
    rows === 0 ? `No row of run ${runId} may be sent again; nothing was written.` : `${written} may be sent again`,
    ...(rows === 0 || template === null
      ? []
      : [
          `It looks as the file of the run did: hand it in with its template (${template}) again, under a name in .${format}.`,
        ]),
    ...(open === 0
      ? []
      : [`${rowsText(open)} still open (waiting, unknown, held, pending or not confirmed): not in it`]),
    ...(duplicates === 0 ? [] : [`${rowsText(duplicates)} whose reference another payout has: not in it`]),
    ...(refused === 0 ? [] : [`${rowsText(refused)} refused by intake, and never valid: not in it`]),
    ...(isWhole
      ? [
          `This is every row of the run: hand it in with --again, or the same rows are run ${runId} again and pay nothing.`,
        ]
      : []),
  ].join('\n');
}

function rowsText(rows: number): string {
  return rows === 1 ? '1 row' : `${rows} rows`;
}
