import { Command, Option } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import { rfc3339 } from '../../clock.ts';
import { readStatement, type Statement } from '../../intake/statement/read-statement.ts';
import { readStatementTemplate } from '../../intake/statement/template.ts';
import { EXIT, type ExitCode } from '../../refusal.ts';
import { marked } from '../../report/csv.ts';
import type { Match } from '../../report/statement/match.ts';
import {
  isReconciled,
  type MatchCounts,
  matchCsv,
  matchDocument,
  matchJson,
} from '../../report/statement/match-report.ts';
import { writeWholeFile } from '../../report/whole-file.ts';
import { noteReconciled, reconcileRuns } from '../../runs/reconcile.ts';
import { columns } from '../columns.ts';
import { withLedger } from '../open.ts';
import { parseOptions, personName } from '../options.ts';
import { printAll, safeText, say } from '../print.ts';
import { requireTableFormat } from '../table-format.ts';

const FORMATS = ['summary', 'csv', 'json'] as const;
const SHOWN_MAX = 20;

const path = z.string().min(1, 'must not be empty');
const schema = z.object({
  statement: path,
  template: path.optional(),
  format: z.enum(FORMATS),
  bom: z.boolean(),
  output: path.optional(),
  as: personName.optional(),
});
type Options = z.infer<typeof schema>;

/** `payrun reconcile`: the payments of runs against a statement of the account that paid them. */
export function reconcileCommand(end: (code: ExitCode) => void): Command {
  return new Command('reconcile')
    .argument('<runs...>', 'the runs')
    .requiredOption('--statement <file>', 'the statement: camt.053 or camt.054 (.xml), or CSV')
    .option('--template <file>', 'how a CSV statement looks (docs/reconcile.md)')
    .addOption(new Option('--format <format>', 'what is written of it').choices(FORMATS).default('summary'))
    .option('--bom', 'with csv: begin with a byte order mark, by which Excel knows UTF-8', false)
    .option('--output <path>', 'write a file instead of standard output')
    .option('--as <name>', 'note the result with the runs and on the audit log, under this name')
    .addHelpText(
      'after',
      '\nIt exits 0 when each payment is on the statement and nothing else is; 1 when anything is missing, different or extra.' +
        '\n\nExamples:\n  payrun reconcile 20260131-k3f9xq --statement statement.xml' +
        '\n  payrun reconcile 20260131-k3f9xq 20260201-a81mzp --statement bank.csv --template bank.json --format csv --output open.csv',
    )
    .action(async (runIds: string[], raw: unknown) => {
      const options = parseOptions(schema, raw);
      requireTableFormat({ ...options, output: options.output });
      end(await withLedger((app) => reconcile(app, [...new Set(runIds)], options)));
    });
}

async function reconcile(app: App, runIds: readonly string[], options: Options): Promise<ExitCode> {
  const template = await readStatementTemplate(options.template);
  const statement = await readStatement(options.statement, { template, limits: app.config.files });
  const { lines, counts } = await reconcileRuns(app, runIds, statement);
  const text = textOf(lines, { options, statement, runIds, counts, now: app.clock.now() });
  if (options.output === undefined) await printAll(text);
  else {
    await writeWholeFile(options.output, text);
    say(`wrote ${safeText(options.output)}`);
  }
  if (options.output !== undefined || options.format !== 'summary') say(countWords(counts()));
  if (options.as !== undefined) await noteReconciled(app, runIds, { statement, counts, actor: options.as });
  return isReconciled(counts()) ? EXIT.ok : EXIT.defect;
}

interface About {
  readonly options: Options;
  readonly statement: Statement;
  readonly runIds: readonly string[];
  readonly counts: () => MatchCounts;
  readonly now: number;
}

function textOf(lines: AsyncIterable<readonly Match[]>, about: About): AsyncIterable<string> {
  const { options, statement, runIds, counts, now } = about;
  switch (options.format) {
    case 'csv':
      return marked(matchCsv(lines), options);
    case 'json': {
      const { name, sha256, movements } = statement;
      const file = { name, sha256, movements: movements.length };
      return matchJson(lines, { about: { runs: runIds, statement: file, createdAt: rfc3339(now) }, counts });
    }
    case 'summary':
      return summaryText(lines, counts);
  }
}

async function* summaryText(
  lines: AsyncIterable<readonly Match[]>,
  counts: () => MatchCounts,
): AsyncGenerator<string, void> {
  const shown: string[][] = [];
  for await (const batch of lines) {
    for (const match of batch) if (match.status !== 'matched' && shown.length < SHOWN_MAX) shown.push(cellsOf(match));
  }
  const { missing, different, extra } = counts();
  const unseen = missing + different + extra - shown.length;
  yield `${countWords(counts())}\n`;
  if (shown.length > 0) yield `\n${safeText(columns(shown))}\n`;
  if (unseen > 0) yield `and ${unseen} more: --format csv has all of them\n`;
}

function cellsOf(match: Match): string[] {
  const { runId, line, reference, statementLine, statementReference, why } = matchDocument(match);
  const row = runId === null ? '' : `${runId} line ${line}`;
  const movement = statementLine === null ? '' : `statement ${statementLine}`;
  return [match.status, row, movement, reference ?? statementReference ?? '', why];
}

function countWords({ reconciled, payments, missing, different, extra }: MatchCounts): string {
  return (
    `reconciled ${reconciled} of ${payments} payments; ` +
    `${missing} missing, ${different} different, ${extra} extra on the statement`
  );
}
