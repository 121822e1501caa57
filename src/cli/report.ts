import { Command, Option } from 'commander';
import { z } from 'zod';
import { type App, nameOf } from '../app.ts';
import { EXIT, type ExitCode, Refusal } from '../refusal.ts';
import { reportCsv } from '../report/csv.ts';
import { summaryJson } from '../report/document.ts';
import { jsonText, reportJson } from '../report/json.ts';
import type { ReportSummary } from '../report/summary.ts';
import { summaryText } from '../report/summary-text.ts';
import { reportSource, summariseRun } from '../runs/report.ts';
import { withLedger } from './open.ts';
import { parseOptions } from './options.ts';
import { printAll, safeText, say } from './print.ts';
import { writeWholeFile } from './whole-file.ts';

const FORMATS = ['csv', 'json', 'summary'] as const;

const schema = z.object({
  format: z.enum(FORMATS).optional(),
  output: z.string().min(1, 'must not be empty').optional(),
  json: z.boolean(),
});
type ReportOptions = z.infer<typeof schema>;

/** `payrun report`: the report of a run as it stands in the ledger now. */
export function reportCommand(end: (code: ExitCode) => void): Command {
  return new Command('report')
    .description('write the report of a run, as it stands now')
    .argument('<run>', 'the run')
    .addOption(new Option('--format <format>', 'csv, json with all rows, or summary (default: csv)').choices(FORMATS))
    .option('--output <path>', 'write a file instead of standard output')
    .option('--json', 'the same as --format json; with --format summary, the summary as JSON', false)
    .addHelpText(
      'after',
      '\nIt exits 1, and says so first, when the report does not tie.' +
        '\n\nExamples:\n  payrun report 20260131-k3f9xq --output payouts-report.csv' +
        '\n  payrun report 20260131-k3f9xq --format summary',
    )
    .action(async (runId: string, raw: unknown) => {
      const options = parseOptions(schema, raw);
      const wanted = { format: formatOf(options), output: options.output };
      end(await withLedger((app) => report(app, runId, wanted)));
    });
}

interface Wanted {
  readonly format: Format;
  /** Undefined: standard output. */
  readonly output: string | undefined;
}

async function report(app: App, runId: string, { format, output }: Wanted): Promise<ExitCode> {
  requireOwnService(app);
  const summary = await summariseRun(app, runId);
  if (!summary.ties) tellFaults(summary);
  const text = chunksOf(app, { summary, format });
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

function formatOf({ format, json }: ReportOptions): Format {
  if (!json) return format ?? 'csv';
  if (format === 'csv') {
    throw new Refusal('--json and --format csv exclude each other.', {
      exitCode: EXIT.usage,
      remedy: 'Give one of them.',
    });
  }
  return format === 'summary' ? 'summary-json' : 'json';
}

function tellFaults({ conservation }: ReportSummary): void {
  say(['THIS REPORT DOES NOT TIE: do not book from it.', ...conservation.faults].join('\n  '));
}

async function* chunksOf(
  app: App,
  { summary, format }: { summary: ReportSummary; format: Format },
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
