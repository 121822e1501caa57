import type { App } from '../../app.ts';
import { rfc3339 } from '../../clock.ts';
import { OUTCOMES, type Outcome, type Payout, type RefusedRow, type Run } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import type { RunDocument } from '../../report/document.ts';
import { isRefused, type ReportRow, reportRow } from '../../report/row.ts';
import { choicesOf, type DecisionRules, readDecisionRules } from '../../runs/decide/choices.ts';
import { documentOf } from '../../runs/document.ts';
import { readRun } from '../../runs/read-run.ts';
import { trueRows } from '../../runs/safety/shown-seals.ts';
import { columns, columnsLine } from '../columns.ts';
import { command } from '../command.ts';
import { withLedger } from '../open.ts';
import { jsonLines, print, printAll, printJson, printTexts, say } from '../print.ts';
import { reconciledWords } from '../print-run.ts';
import { isRowless, rowlessText } from './awaiting-row.ts';

type Row = Payout | RefusedRow;

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
      const tells = !json && outcome === 'held' && run.counts.held > 0;
      const held = openHeld(tells ? await readDecisionRules(app) : undefined);
      const rows = reportRows(held.noting(trueRows(app, run, app.ledger.runs.rows(run.id))), outcome);
      await (json ? printAll(jsonLines(rows)) : printTexts(textLines(rows)));
      if (tells) say(whatToDo(run.id, held));
    };
    return await withLedger(list, { tellsPlace: !json });
  },
);

/** Commands of what people may decide of several payouts at once. */
const IN_BULK = { allow: 'allow', drop: 'drop', 'not-paid': 'resolve --not-paid', paid: null } as const;

/** What is known of the held rows of a list once it was read; without rules nothing is. */
function openHeld(rules: DecisionRules | undefined) {
  const codes = new Set<string>();
  const commands = new Set<string>();

  function note(payout: Payout, known: DecisionRules): void {
    if (payout.reasonCode !== null) codes.add(payout.reasonCode);
    for (const { decision, whyNot } of choicesOf(payout, known)) {
      const name = IN_BULK[decision];
      if (whyNot === null && name !== null) commands.add(name);
    }
  }

  return {
    codes,
    commands,
    async *noting(batches: AsyncIterable<readonly Row[]>): AsyncGenerator<readonly Row[], void> {
      for await (const batch of batches) {
        for (const row of batch) if (rules !== undefined && !isRefused(row) && row.state === 'held') note(row, rules);
        yield batch;
      }
    },
  };
}

function whatToDo(runId: string, { codes, commands }: Pick<ReturnType<typeof openHeld>, 'codes' | 'commands'>): string {
  const one = `payrun show ${runId} REFERENCE`;
  if (commands.size === 0) return `None of them can be decided now. Why, and from when on: ${one}`;
  const [name = '', ...others] = commands;
  const [verb = '', ...options] = name.split(' ');
  const code = codes.size === 1 ? [...codes].join('') : 'CODE';
  const or = others.length === 0 ? '' : ` (or ${others.join(', or ')})`;
  return [
    `Two people decide. What they may do with one: ${one}`,
    `All of one reason: ${['payrun', verb, runId, '--reason-code', code, ...options].join(' ')} --reason TEXT --as NAME${or}`,
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
  batches: AsyncIterable<readonly Row[]>,
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
