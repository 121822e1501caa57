import type { App } from '../../app.ts';
import { rfc3339 } from '../../clock.ts';
import { OUTCOMES, type Outcome, type Payout, type RefusedRow, type Run } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import type { RunDocument } from '../../report/document.ts';
import { type ReportRow, reportRow } from '../../report/row.ts';
import { documentOf } from '../../runs/document.ts';
import { readRun } from '../../runs/read-run.ts';
import { trueRows } from '../../runs/safety/shown-seals.ts';
import { columns, columnsLine } from '../columns.ts';
import { command } from '../command.ts';
import { withLedger } from '../open.ts';
import { jsonLines, print, printAll, printJson, printTexts, say } from '../print.ts';
import { reconciledWords } from '../print-run.ts';
import { isRowless, rowlessText } from './awaiting-row.ts';

const ROW_HEADER = ['line', 'reference', 'amount', '', 'outcome', 'state', 'payment', 'reason'];
/** What the cells of a row mostly take: a reference has at most 36 characters, an id has 36. */
const ROW_WIDTHS = [7, 36, 14, 3, 9, 12, 36, 0];

/** `payrun list`: the runs, or the rows of one. */
export const listCommand = command(
  'list',
  {
    takes: { '[run]': 'a run, to list its rows' },
    options: {
      outcome: ['<outcome>', 'only the rows with this outcome', OUTCOMES],
      json: 'print an array as JSON',
    },
    examples: ['payrun list', 'payrun list 20260131-k3f9xq --outcome held'],
  },
  async ({ run: runId, outcome, json }) => {
    if (runId === undefined && outcome !== undefined) {
      throw new Refusal('--outcome is for the rows of one run.', `Name the run: payrun list RUN --outcome ${outcome}`);
    }
    const list = async (app: App): Promise<undefined> => {
      if (runId === undefined) return await listRuns(app, json);
      const run = await readRun(app, runId);
      const rows = reportRows(trueRows(app, run, app.ledger.runs.rows(run.id)), outcome);
      await (json ? printAll(jsonLines(rows)) : printTexts(textLines(rows)));
      if (!json && outcome === 'held' && run.counts.held > 0) say(whatToDo(run.id));
    };
    return await withLedger(list, { tellsPlace: !json });
  },
);

function whatToDo(runId: string): string {
  return [
    `Two people decide. What they may do with one: payrun show ${runId} REFERENCE`,
    `All of one reason: payrun allow ${runId} --reason-code CODE --reason TEXT --as NAME (or drop, or resolve)`,
  ].join('\n');
}

async function listRuns(app: App, json: boolean): Promise<undefined> {
  const ids = await app.ledger.runs.list();
  const runs = (await Promise.all(ids.map((id) => app.ledger.runs.read(id)))).filter((run) => run !== undefined);
  const documents = await Promise.all(runs.map(async (run) => ({ run, document: await documentOf(app, run) })));
  if (json) printJson(documents.map(({ document }) => document));
  else if (runs.length === 0) say('There are no runs yet.');
  else print(columns([['run', 'state', 'submitted', 'rows', 'outcomes', 'file'], ...documents.map(runCells)]));
  for (const run of runs.filter(isRowless)) say(rowlessText(run));
}

function runCells({ run, document }: { run: Run; document: RunDocument }): string[] {
  const outcomes = OUTCOMES.filter((outcome) => document.outcomes[outcome] > 0);
  return [
    run.id,
    run.reconciled === null ? run.state : `${run.state}, ${reconciledWords(run.reconciled)}`,
    rfc3339(run.createdAt),
    String(run.rows),
    outcomes.map((outcome) => `${document.outcomes[outcome]} ${outcome}`).join(', '),
    run.fileName,
  ];
}

async function* reportRows(
  batches: AsyncIterable<readonly (Payout | RefusedRow)[]>,
  outcome: Outcome | undefined,
): AsyncGenerator<ReportRow, void> {
  for await (const batch of batches) {
    for (const row of batch.map(reportRow)) if (outcome === undefined || row.outcome === outcome) yield row;
  }
}

async function* textLines(rows: AsyncIterable<ReportRow>): AsyncGenerator<string, void> {
  yield `${columnsLine(ROW_HEADER, { widths: ROW_WIDTHS })}\n`;
  for await (const row of rows) yield `${columnsLine(rowCells(row), { widths: ROW_WIDTHS })}\n`;
}

function rowCells(row: ReportRow): string[] {
  const currency = row.amountType === 'DESTINATION_AMOUNT' ? row.destinationCurrency : row.sourceCurrency;
  return [
    String(row.line),
    row.reference ?? '',
    (row.amount ?? '').padStart(ROW_WIDTHS[2] ?? 0),
    currency ?? '',
    row.outcome,
    row.paymentState ?? '',
    row.paymentId ?? '',
    [row.reasonCode, row.reason].filter((part) => part !== null).join(' '),
  ];
}
