import { z } from 'zod';
import type { App } from '../../app.ts';
import { nameOf } from '../../config/config.ts';
import { Refusal } from '../../refusal.ts';
import { marked, reportCsv } from '../../report/csv.ts';
import { summaryJson } from '../../report/document.ts';
import { reportJson } from '../../report/json.ts';
import { jsonText } from '../../report/json-text.ts';
import { openNotedStatuses } from '../../report/pain002/noted-statuses.ts';
import { NOT_PROVIDED, originalOf } from '../../report/pain002/original.ts';
import { reportPain002 } from '../../report/pain002/report-pain002.ts';
import { periodFields, periodOf } from '../../report/period/period-range.ts';
import { type ReportSummary, summarise } from '../../report/summary.ts';
import { summaryText } from '../../report/summary-text.ts';
import { reportXlsx } from '../../report/xlsx/report-xlsx.ts';
import { reportSource, summariseRun } from '../../runs/after/report.ts';
import { command, type GivenOptions } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { withLedger } from '../open.ts';
import { say } from '../print.ts';
import { requireTableFormat } from '../table-format.ts';
import { writeOut } from '../write-out.ts';
import { reportPeriod } from './period-report.ts';
import { reportReadBack } from './read-back.ts';
import { writeChanges } from './report-changes.ts';

const FORMATS = ['csv', 'xlsx', 'json', 'summary', 'pain.002', 'pdf'] as const;

const options = {
  from: [
    '<day>',
    'instead of a run: all that were submitted from this day on (UTC), by currency, corridor and so on',
    periodFields.from,
  ],
  to: ['<day>', 'the last day of it', periodFields.to],
  day: ['<day>', 'the same for one day, such as 2026-01-31', periodFields.day],
  week: ['<week>', 'the same for one week from Monday on, such as 2026-W05', periodFields.week],
  month: ['<month>', 'the same for one month, such as 2026-01', periodFields.month],
  format: [
    '<format>',
    'csv, xlsx: a workbook, json with all rows, summary, pain.002: an ISO 20022 status report, or pdf: the printed report, by Chromium where it is installed (default: csv)',
    FORMATS,
  ],
  output: ['<path>', 'write a file instead of standard output', z.string().min(1, 'must not be empty').optional()],
  original: [
    '<file>',
    'with pain.002: the payment message of the run, whose ids the report answers with',
    z.string().min(1, 'must name a file').optional(),
  ],
  confirmation: [
    '<line>',
    'with pdf: the payment confirmation for whoever was paid on this line of the file',
    z.coerce.number('must be the line of a row').int().positive().optional(),
  ],
  bom: 'with csv: begin with a byte order mark, by which Excel knows UTF-8',
  verifyWithService: 'read every payment back from the service, and write the differences',
  changesSince: [
    '<version>',
    'write what changed in the written reports from this version to the newest',
    z.coerce.number('must be the number of a version').int().positive().optional(),
  ],
  json: 'the same as --format json; with --format summary, the summary as JSON',
} as const;
type ReportOptions = GivenOptions<typeof options>;

/** `payrun report`: the report of a run as it stands in the ledger now. */
export const reportCommand = command(
  'report',
  {
    takes: { '[run]': 'the run' },
    options,
    help:
      'It exits 1, and says so first, when the report does not tie. With --verify-with-service it asks at the pace of' +
      '\nPAYRUN_TRACK_RATE, writes a row for each difference, and exits 1 with any, 69 without all answers.',
    examples: [
      'payrun report 20260131-k3f9xq --output payouts-report.csv',
      'payrun report 20260131-k3f9xq --format xlsx --output payouts-report.xlsx',
      'payrun report 20260131-k3f9xq --format summary',
      'payrun report --month 2026-01 --format summary',
      'payrun report 20260131-k3f9xq --verify-with-service',
      'payrun report 20260131-k3f9xq --format pain.002 --original payments.xml --output status.xml',
      'payrun report 20260131-k3f9xq --format pdf --output report.pdf',
      'payrun report 20260131-k3f9xq --format pdf --confirmation 2 --output confirmation.pdf',
    ],
  },
  async ({ run: runId, ...given }) => {
    if (runId === undefined) return await reportRuns(given);
    if (periodOf(given) !== undefined) throw new Refusal('A period is instead of a run.', 'Leave out one of them.');
    if (given.verifyWithService) return await verifyWithService(runId, given);
    if (given.changesSince !== undefined) return await writeChanges(runId, { ...given, since: given.changesSince });
    const wanted = { ...given, format: formatOf(given) };
    return await withLedger(
      async (app) =>
        wanted.format === 'pdf'
          ? await writePdf(app, runId, wanted)
          : await report(app, runId, { ...wanted, format: wanted.format }),
      { tellsPlace: !isForPrograms(wanted) },
    );
  },
);

async function reportRuns(given: ReportOptions): Promise<ExitCode> {
  const format = formatOf(given);
  const range = periodOf(given);
  if (range === undefined)
    throw new Refusal('No run is named.', 'Name a run, or a period by --day, --week, --month, or --from and --to.');
  if (typeof range === 'string')
    throw new Refusal(range, 'Name one period, by --day, --week, --month, or --from and --to.');
  if (format === 'pain.002' || format === 'pdf' || format === 'summary-json') {
    throw new Refusal('A period has no such format.', 'Use csv, xlsx, json or summary.');
  }
  return await withLedger((app) => reportPeriod(app, range, { ...given, format }), {
    tellsPlace: !isForPrograms({ format }),
  });
}

async function verifyWithService(runId: string, { format, original, output, json }: ReportOptions): Promise<ExitCode> {
  if (format === undefined && original === undefined) return await reportReadBack(runId, { output, json });
  throw new Refusal(
    '--verify-with-service writes differences, as CSV or, with --json, as JSON.',
    'Leave --format and --original out.',
  );
}

interface Wanted extends Omit<ReportOptions, 'format'> {
  readonly format: Exclude<Format, 'pdf'>;
}

async function report(app: App, runId: string, { format, output, original, bom }: Wanted): Promise<ExitCode> {
  requireOwnService(app);
  const { summary, text } =
    format === 'pain.002' ? await statusReport(app, runId, original) : await plainReport(app, runId, { format, bom });
  if (!summary.ties) tellFaults(summary);
  tellVersion(summary);
  await writeOut({ output, format }, text);
  return summary.ties ? EXIT.ok : EXIT.defect;
}

/** A report names service, environment and capabilities, which only a process with that service's settings knows. */
function requireOwnService({ config, serviceName }: App): void {
  if (serviceName === nameOf(config.service)) return;
  throw new Refusal(
    `The run was paid through ${serviceName}, and no service is configured here.`,
    'Set the five service settings (see docs/settings.md) as they were for the run; nothing is sent to the service.',
  );
}

type Format = (typeof FORMATS)[number] | 'summary-json';

function isForPrograms({ format }: { format: Format }): boolean {
  return format === 'json' || format === 'summary-json';
}
type PlainFormat = Exclude<Format, 'pain.002' | 'pdf'>;

function formatOf({ original, confirmation, output, bom, json, ...given }: ReportOptions): Format {
  const format = given.format ?? (json ? 'json' : 'csv');
  requireTableFormat({ format, output, bom });
  if (original !== undefined && format !== 'pain.002') {
    throw new Refusal('--original is for --format pain.002.', 'Give both of them, or neither.');
  }
  if (confirmation !== undefined && format !== 'pdf') {
    throw new Refusal('--confirmation is for --format pdf.', 'Give both of them, or neither.');
  }
  if (!json || format === 'json') return format;
  if (format === 'summary') return 'summary-json';
  throw new Refusal(`--json and --format ${format} exclude each other.`, 'Give one of them.');
}

/** The page for paper as a PDF; the pages are loaded by nobody else. */
async function writePdf(
  app: App,
  runId: string,
  { output, confirmation }: Pick<ReportOptions, 'output' | 'confirmation'>,
): Promise<ExitCode> {
  requireOwnService(app);
  const [{ confirmationPage, reportPage }, { pdfOf }] = await Promise.all([
    import('../../web/reports/printed-file.ts'),
    import('./pdf.ts'),
  ]);
  if (confirmation !== undefined) {
    await writeOut({ output, format: 'pdf' }, pdfOf(await confirmationPage(app, { runId, line: confirmation })));
    return EXIT.ok;
  }
  const { html, summary } = await reportPage(app, runId);
  if (!summary.ties) tellFaults(summary);
  tellVersion(summary);
  await writeOut({ output, format: 'pdf' }, pdfOf(html));
  return summary.ties ? EXIT.ok : EXIT.defect;
}

function tellFaults({ conservation }: ReportSummary): void {
  say(['THIS REPORT DOES NOT TIE: do not book from it.', ...conservation.faults].join('\n  '));
}

/** Says so when what was written is older than this. */
function tellVersion({ facts: { run } }: ReportSummary): void {
  if (run.reportVersion === 0 || run.reportedChanges === run.changes) return;
  say(`This is newer than v${run.reportVersion}, the last report that was written: the run has changed since.`);
}

interface Plain {
  readonly format: PlainFormat;
  readonly bom: boolean;
}

/** A report's text, and what its rows add up to. */
interface Report {
  readonly summary: ReportSummary;
  readonly text: AsyncIterable<string | Uint8Array>;
}

async function plainReport(app: App, runId: string, wanted: Plain): Promise<Report> {
  const summary = await summariseRun(app, runId);
  return { summary, text: chunksOf(app, summary, wanted) };
}

const IDS_NOT_KEPT = 'The ids of the payment message are not kept: name it with --original to have them in the report.';

/** The rows are read twice: the message tells its counts before its rows. */
async function statusReport(app: App, runId: string, path: string | undefined): Promise<Report> {
  const counted = await reportSource(app, runId);
  const original = await originalOf(counted.run, path);
  if (original.messageId === NOT_PROVIDED) say(IDS_NOT_KEPT);
  const statuses = openNotedStatuses();
  const summary = await summarise({ ...counted, rows: statuses.noting(counted.rows) });
  const source = await reportSource(app, runId);
  return { summary, text: reportPain002(source, { statuses, ties: summary.ties, original }) };
}

async function* chunksOf(
  app: App,
  summary: ReportSummary,
  { format, bom }: Plain,
): AsyncGenerator<string | Uint8Array, void> {
  switch (format) {
    case 'csv':
      return yield* marked(reportCsv(await reportSource(app, summary.facts.run.id)), { bom });
    case 'xlsx':
      return yield* reportXlsx(await reportSource(app, summary.facts.run.id));
    case 'json':
      return yield* reportJson(await reportSource(app, summary.facts.run.id));
    case 'summary':
      yield summaryText(summary);
      return;
    case 'summary-json':
      yield `${jsonText(summaryJson(summary))}\n`;
  }
}
