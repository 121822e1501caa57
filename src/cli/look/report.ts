import { Command, Option } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import { nameOf } from '../../config/config.ts';
import { EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { reportCsv } from '../../report/csv.ts';
import { summaryJson } from '../../report/document.ts';
import { reportJson } from '../../report/json.ts';
import { jsonText } from '../../report/json-text.ts';
import { openNotedStatuses } from '../../report/pain002/noted-statuses.ts';
import { NOT_PROVIDED, originalOf } from '../../report/pain002/original.ts';
import { reportPain002 } from '../../report/pain002/report-pain002.ts';
import { type ReportSummary, summarise } from '../../report/summary.ts';
import { summaryText } from '../../report/summary-text.ts';
import { reportSource, summariseRun } from '../../runs/report.ts';
import { writeWholeFile } from '../atomic-write.ts';
import { withLedger } from '../open.ts';
import { parseOptions } from '../options.ts';
import { printAll, safeText, say } from '../print.ts';

const FORMATS = ['csv', 'json', 'summary', 'pain.002'] as const;

const schema = z.object({
  format: z.enum(FORMATS).optional(),
  output: z.string().min(1, 'must not be empty').optional(),
  original: z.string().min(1, 'must name a file').optional(),
  json: z.boolean(),
});
type ReportOptions = z.infer<typeof schema>;

/** `payrun report`: the report of a run as it stands in the ledger now. */
export function reportCommand(end: (code: ExitCode) => void): Command {
  return new Command('report')
    .argument('<run>', 'the run')
    .addOption(
      new Option(
        '--format <format>',
        'csv, json with all rows, summary, or pain.002: an ISO 20022 status report (default: csv)',
      ).choices(FORMATS),
    )
    .option('--output <path>', 'write a file instead of standard output')
    .option('--original <file>', 'with pain.002: the payment message of the run, whose ids the report answers with')
    .option('--json', 'the same as --format json; with --format summary, the summary as JSON', false)
    .addHelpText(
      'after',
      '\nIt exits 1, and says so first, when the report does not tie.' +
        '\n\nExamples:\n  payrun report 20260131-k3f9xq --output payouts-report.csv' +
        '\n  payrun report 20260131-k3f9xq --format summary' +
        '\n  payrun report 20260131-k3f9xq --format pain.002 --original payments.xml --output status.xml',
    )
    .action(async (runId: string, raw: unknown) => {
      const options = parseOptions(schema, raw);
      const wanted = { format: formatOf(options), output: options.output, original: options.original };
      end(await withLedger((app) => report(app, runId, wanted)));
    });
}

interface Wanted {
  readonly format: Format;
  /** Undefined: standard output. */
  readonly output: string | undefined;
  /** The payment message, for pain.002. */
  readonly original: string | undefined;
}

async function report(app: App, runId: string, { format, output, original }: Wanted): Promise<ExitCode> {
  requireOwnService(app);
  const { summary, text } =
    format === 'pain.002' ? await statusReport(app, runId, original) : await plainReport(app, runId, format);
  if (!summary.ties) tellFaults(summary);
  if (output === undefined) await printAll(text);
  else {
    await writeWholeFile(output, text);
    say(`wrote ${safeText(output)}`);
  }
  return summary.ties ? EXIT.ok : EXIT.defect;
}

/** A report names service, environment and capabilities, which only a process with that service's settings knows. */
function requireOwnService({ config, serviceName }: App): void {
  if (serviceName === nameOf(config.service)) return;
  throw new Refusal(`The run was paid through ${serviceName}, and no service is configured here.`, {
    exitCode: EXIT.usage,
    remedy: 'Set the five service settings (see the README) as they were for the run; nothing is sent to the service.',
  });
}

type Format = (typeof FORMATS)[number] | 'summary-json';
type PlainFormat = Exclude<Format, 'pain.002'>;

function formatOf({ format, json, original }: ReportOptions): Format {
  if (original !== undefined && format !== 'pain.002') {
    throw new Refusal('--original is for --format pain.002.', {
      exitCode: EXIT.usage,
      remedy: 'Give both of them, or neither.',
    });
  }
  if (!json) return format ?? 'csv';
  if (format === 'csv' || format === 'pain.002') {
    throw new Refusal(`--json and --format ${format} exclude each other.`, {
      exitCode: EXIT.usage,
      remedy: 'Give one of them.',
    });
  }
  return format === 'summary' ? 'summary-json' : 'json';
}

function tellFaults({ conservation }: ReportSummary): void {
  say(['THIS REPORT DOES NOT TIE: do not book from it.', ...conservation.faults].join('\n  '));
}

/** A report's text, and what its rows add up to. */
interface Report {
  readonly summary: ReportSummary;
  readonly text: AsyncIterable<string>;
}

async function plainReport(app: App, runId: string, format: PlainFormat): Promise<Report> {
  const summary = await summariseRun(app, runId);
  return { summary, text: chunksOf(app, { summary, format }) };
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
  { summary, format }: { summary: ReportSummary; format: PlainFormat },
): AsyncGenerator<string, void> {
  switch (format) {
    case 'csv':
      return yield* reportCsv(await reportSource(app, summary.facts.run.id));
    case 'json':
      return yield* reportJson(await reportSource(app, summary.facts.run.id));
    case 'summary':
      yield summaryText(summary);
      return;
    case 'summary-json':
      yield `${jsonText(summaryJson(summary))}\n`;
  }
}
