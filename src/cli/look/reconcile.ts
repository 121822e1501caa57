import { z } from 'zod';
import type { App } from '../../app.ts';
import { rfc3339 } from '../../clock.ts';
import { joinStatements, readStatement, type Statement } from '../../intake/statement/read-statement.ts';
import { readStatementTemplate } from '../../intake/statement/template.ts';
import { marked } from '../../report/csv.ts';
import type { Match } from '../../report/statement/match.ts';
import {
  isReconciled,
  type MatchCounts,
  matchCsv,
  matchDocument,
  matchJson,
} from '../../report/statement/match-report.ts';
import { noteReconciled, reconcileRuns } from '../../runs/reconcile.ts';
import { columns } from '../columns.ts';
import { command, type GivenOptions } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { withLedger } from '../open.ts';
import { personName } from '../options.ts';
import { safeText, say } from '../print.ts';
import { requireTableFormat } from '../table-format.ts';
import { writeOut } from '../write-out.ts';

const FORMATS = ['summary', 'csv', 'json'] as const;
const SHOWN_MAX = 20;

const path = z.string().min(1, 'must not be empty');
const options = {
  statement: ['<files...>', 'the statements, which add up: camt.053 or camt.054 (.xml), or CSV', z.array(path).min(1)],
  template: ['<file>', 'how a CSV statement looks (docs/reconcile.md)', path.optional()],
  format: ['<format>', 'what is written of it', FORMATS, 'summary'],
  bom: 'with csv: begin with a byte order mark, by which Excel knows UTF-8',
  output: ['<path>', 'write a file instead of standard output', path.optional()],
  as: ['<name>', 'note the result with the runs and on the audit log, under this name', personName.optional()],
} as const;
type Options = GivenOptions<typeof options>;

/** `payrun reconcile`: the payments of runs against a statement of the account that paid them. */
export const reconcileCommand = command(
  'reconcile',
  {
    takes: { '<runs...>': 'the runs' },
    options,
    help: 'It exits 0 when each payment is on the statement and nothing else is; 1 when anything is missing, different or extra.',
    examples: [
      'payrun reconcile 20260131-k3f9xq --statement january.xml february.xml --as anna',
      'payrun reconcile 20260131-k3f9xq 20260201-a81mzp --statement bank.csv --template bank.json --format csv --output open.csv',
    ],
  },
  async ({ runs, ...given }) => {
    requireTableFormat(given);
    return await withLedger((app) => reconcile(app, [...new Set(runs)], given), {
      tellsPlace: given.format !== 'json',
    });
  },
);

async function reconcile(app: App, runIds: readonly string[], given: Options): Promise<ExitCode> {
  const { statement: files, output, format, as: actor } = given;
  const template = await readStatementTemplate(given.template);
  const statements: Statement[] = [];
  for (const file of files) statements.push(await readStatement(file, { template, limits: app.config.files }));
  const statement = joinStatements(statements);
  const { lines, counts } = await reconcileRuns(app, runIds, statement);
  const text = textOf(lines, { given, statement, runIds, counts, now: app.clock.now() });
  await writeOut({ output, format }, text);
  if (output !== undefined || format !== 'summary') say(countWords(counts()));
  if (actor !== undefined) await noteReconciled(app, runIds, { statement, counts, actor });
  return isReconciled(counts()) ? EXIT.ok : EXIT.defect;
}

interface About {
  readonly given: Options;
  readonly statement: Statement;
  readonly runIds: readonly string[];
  readonly counts: () => MatchCounts;
  readonly now: number;
}

function textOf(lines: AsyncIterable<readonly Match[]>, about: About): AsyncIterable<string> {
  const { given, statement, runIds, counts, now } = about;
  switch (given.format) {
    case 'csv':
      return marked(matchCsv(lines), given);
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
