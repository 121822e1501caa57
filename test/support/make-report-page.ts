import { z } from 'zod';
import { type ColumnKind, REPORT_COLUMN_FACTS } from '../../src/report/columns.ts';
import { REPORT_COLUMNS } from '../../src/report/row.ts';
import { reportDocument } from '../../src/web/api/documents.ts';

/*
 * docs/report.md and docs/report.schema.json. Written anew with UPDATE_DOCS=1 npx vitest run test/report/columns.test.ts
 */

const KINDS: Readonly<Record<ColumnKind, string>> = {
  count: 'whole number',
  decimal: 'decimal',
  time: 'time',
  code: 'code',
  words: 'text',
};

const HEAD = `# The report

\`payrun report RUN\` adds the ledger up anew and says whether it ties; it exits 1 when it does not. The same can be had from the page of a run and by the
API (\`GET /runs/{run}/report\`). Where the run has changed since its last report was written, command and printed page say so; a download of an older version names the newest one in its \`Link\` header (\`rel="latest-version"\`), and the page of the run says beside each older file which version is newer. Files that were written can be had with their signature (\`/runs/{run}/reports/v1.csv\`, \`.json\`, \`.sig\`). CSV, workbook and JSON have the same rows in the order of the file.

| format | what it is |
|---|---|
| \`csv\` | RFC 4180, UTF-8. A text that a spreadsheet would run begins with \`'\`. \`--bom\` (\`bom=true\`) puts a byte order mark first, by which Excel knows UTF-8 |
| \`xlsx\` | a workbook: summary, rows, and once more the first 10,000 rows that were not paid. Amounts, rates and counts are numbers with the digits that they have, times are times, all else is text; there are no formulas. A number of more than 15 digits is text, because spreadsheets keep no more |
| \`json\` | one document, after [report.schema.json](report.schema.json) (JSON Schema 2020-12); amounts are decimals as text |
| \`summary\` | what the rows add up to, for people; with \`--json\` the document without its rows |
| \`pain.002\` | the ISO 20022 status report for a payment message |
| \`pdf\` | the page for paper, printed by Chromium where that is installed (\`/usr/bin/chromium\` or Google Chrome; by the command alone); \`--confirmation LINE\` prints the payment confirmation of one row instead |

**To print** on the page of a run gives a summary for paper, and **Payment confirmation** on the page of a payout tells whoever was paid of one payment, without
what it cost. A browser prints both to PDF, and so does \`payrun report RUN --format pdf\`. \`payrun retry-file\` and \`payrun validate --problems PATH\` write workbooks, too.

## What ties
A report ties when the rows in the ledger are the rows of the file, each once, with the file's money in each currency, when each payment has an id of its own, and when all seals are true. The hash over the rows in the ledger
has to be that of the rows that were accepted when the file was handed in, which is in the audit log; \`hashes.rows\` says \`same\`, \`other\` (then it does not tie) or \`not compared\`, where the log has no such hash or the run was
cancelled while it was recorded.

## What changed
A payment that came back after the report was written makes a new version; earlier ones stay as they are. \`payrun report RUN --changes-since 1\`, the page of the run and \`GET /runs/{run}/changes?since=1\` (JSON or CSV) list each cell
that changed between that version and the newest one: line, reference, column, from, to.

## A status report (pain.002)
It is in the version of the message that the run was made of, which is kept with the run. The message's own ids are not kept: \`--original FILE\` reads them from the message. Without it \`OrgnlMsgId\` says
\`NOTPROVIDED\`. Runs from before the version was kept say \`pain.001\` without one, unless \`--original\` is given.

## A period
\`payrun report --month 2026-01\` adds up the runs that were submitted in it, as \`csv\`, \`xlsx\`, \`json\` or \`summary\`; so do \`--day 2026-01-31\`, \`--week 2026-W05\` and \`--from DAY --to DAY\` (UTC, all
days included). There is a line for each currency, corridor, beneficiary and run, and one for each reason why rows were not paid, in all, by corridor and by beneficiary. A line has rows and the file's amounts by outcome; what was debited, what arrived and the fees;
the mean of the quoted rates, weighted by what was debited, beside the rate that came of it, without and with the fees; and the mean time from the payment request to the present final state, also of payments that failed or came back. It ties when each run ties and the lines
of each kind are the sum of the runs' own reports; else it says what does not, and exits 1. It names runs from before the period that still have open rows, and runs whose rows were removed, which are in no line.
The page **Report of a period** (from *Runs*) and \`GET /period\` of the API have the same.

## Columns
A cell is empty, in JSON null, where there is nothing to say. JSON has \`fees\` besides, an amount and its currency each.

| column | kind | what it says |
|---|---|---|
`;

/** The text of docs/report.md. */
export function makeReportPage(): string {
  const rows = REPORT_COLUMNS.map((column) => {
    const { kind, about } = REPORT_COLUMN_FACTS[column];
    return `| \`${column}\` | ${KINDS[kind]} | ${about} |`;
  });
  return `${HEAD}${rows.join('\n')}\n`;
}

/** The JSON Schema of the report, with what its columns say. */
export function makeReportSchema(): object {
  return z.toJSONSchema(reportDocument, {
    override({ jsonSchema, path }) {
      const at = path.join('/');
      const column = REPORT_COLUMNS.find((name) => at === `properties/rows/items/properties/${name}`);
      if (column !== undefined) jsonSchema.description = REPORT_COLUMN_FACTS[column].about;
      if (at === '') jsonSchema.title = 'The report of a payrun run';
    },
  });
}
