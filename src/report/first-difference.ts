import { open } from 'node:fs/promises';
import { csvCellTexts } from './csv.ts';
import { readRowLine } from './read-rows.ts';
import { REPORT_COLUMNS, type ReportColumn } from './row.ts';

/** Of reports before they had names. */
const FORMER_COLUMNS = REPORT_COLUMNS.filter((column) => column !== 'beneficiaryName');

/**
 * Where the rows of a report's CSV and of its JSON first differ, for people; undefined where they do not, so that whatever
 * was changed is not in both. Both files are read once, a line at a time. Throws what the file system says.
 */
export async function firstDifference(csvPath: string, jsonPath: string): Promise<string | undefined> {
  await using csv = await open(csvPath);
  await using json = await open(jsonPath);
  // Cells hold no line end: a line of the CSV is a row (csv.ts), and in the JSON each row has a line (json.ts).
  const csvLines = csv.readLines()[Symbol.asyncIterator]();
  const jsonLines = json.readLines()[Symbol.asyncIterator]();
  await jsonLines.next();
  const header = textOf(await csvLines.next());
  const columns = [REPORT_COLUMNS, FORMER_COLUMNS].find((known) => known.join(',') === header);
  if (columns === undefined) return 'line 1 of the CSV is not its header';
  for (let line = 2; ; line++) {
    const inCsv = textOf(await csvLines.next());
    const inJson = textOf(await jsonLines.next());
    const row = inJson === undefined || inJson.startsWith(']') ? undefined : inJson;
    if (inCsv === undefined && row === undefined) return undefined;
    if (row === undefined) return `line ${line} of the CSV is a row that the JSON does not have`;
    if (inCsv === undefined) return `line ${line} of the JSON is a row that the CSV does not have`;
    const difference = differenceIn(inCsv, row, columns);
    if (difference !== undefined) return `line ${line}, ${difference}`;
  }
}

function textOf({ done, value }: IteratorResult<string>): string | undefined {
  return done === true ? undefined : value;
}

function differenceIn(csvLine: string, jsonLine: string, columns: readonly ReportColumn[]): string | undefined {
  const row = readRowLine(jsonLine);
  if (row === undefined) return 'which is no row in the JSON';
  const expected = csvCellTexts(row).slice(0, columns.length);
  if (expected.join(',') === csvLine) return undefined;
  let at = 0;
  for (const [index, text] of expected.entries()) {
    const column = columns[index] ?? '';
    const isLast = index === expected.length - 1;
    if (!csvLine.startsWith(isLast ? text : `${text},`, at) || (isLast && csvLine.length > at + text.length)) {
      const found = isLast ? csvLine.slice(at) : csvLine.slice(at).split(',', 1)[0];
      return `column ${column} (line ${row.line} of the payout file): ${found} in the CSV, ${text} in the JSON`;
    }
    at += text.length + 1;
  }
  return undefined;
}
