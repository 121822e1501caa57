import type { Jobs } from '../app.ts';
import { rfc3339 } from '../clock.ts';
import { SANDBOX_NAME } from '../config/config.ts';
import { stagesText, stageText } from '../config/stages.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { OUTCOMES, type Run } from '../payout.ts';
import type { Reconciled } from '../reconciled.ts';
import { balanceLines, type RunDocument } from '../report/document.ts';
import { hasEnded } from '../runs/decide/control.ts';
import { type DocumentDeps, documentOf } from '../runs/document.ts';
import { type ScheduleChange, scheduleChangesOf, scheduleChangeWords } from '../runs/schedule-changes.ts';
import { columns } from './columns.ts';
import { print, printJson, safeText } from './print.ts';
import { nextSteps } from './run/next-steps.ts';
import { reasonLines } from './run/reason-lines.ts';

interface Shown extends DocumentDeps {
  readonly ledger: Pick<Ledger, 'audit' | 'state' | 'runs'>;
  readonly place: string;
  readonly jobs: Pick<Jobs, 'workers'>;
}

/** Prints a run as JSON, or for a terminal: what it is, and its rows and money per outcome. */
export async function printRun(app: Shown, run: Run, { json }: { json: boolean }): Promise<void> {
  const document = await documentOf(app, run);
  if (json) printJson(document);
  else {
    const [changes, carriesOn, reasons] = await Promise.all([
      scheduleChangesOf(app.ledger, run),
      carrierOf(app, run),
      reasonLines(app, run),
    ]);
    print(safeText(describeRun(app, { document, run, changes, carriesOn, reasons })));
  }
}

/** The command that shows a run going on; where no worker lives, nothing of it goes on by itself. */
export async function carrierOf(app: Shown, { id }: Run): Promise<string> {
  return (await app.jobs.workers()).length > 0 ? `payrun watch ${id}` : workerCommand(app);
}

/** The command of a worker, which pays whatever waits. */
export function workerCommand({ serviceName }: Pick<Shown, 'serviceName'>): string {
  return serviceName === SANDBOX_NAME ? 'payrun worker --sandbox' : 'payrun worker';
}

interface Described {
  readonly document: RunDocument;
  readonly run: Run;
  readonly changes: readonly ScheduleChange[];
  readonly carriesOn: string;
  readonly reasons: Awaited<ReturnType<typeof reasonLines>>;
}

function describeRun(app: Shown, { document, run, changes, carriesOn, reasons }: Described): string {
  const facts = columns([
    ['run', document.runId],
    ['state', stateText(run)],
    ['file', `${document.file.name}, ${document.file.rows} rows`],
    ...(run.stages === null
      ? []
      : [['stages', hasEnded(run) ? stageText(run.stages) : `${stageText(run.stages)}: ${stagesText(run.stages)}`]]),
    ['sha256', document.file.sha256],
    ['submitted', `${rfc3339(run.createdAt)} by ${run.createdBy}`],
    ...(run.dropper === null ? [] : [['dropped', run.dropper === '' ? 'by nobody who is named' : `by ${run.dropper}`]]),
    ...changes.map((change) => ['way changed', `${rfc3339(change.at)}: ${scheduleChangeWords(change)}`]),
    ...(run.finishedAt === null ? [] : [['ended', rfc3339(run.finishedAt)]]),
    ...document.reports.map((path) => ['report', path]),
    ...fundsLines(document),
    ...(run.reconciled === null ? [] : [['bank', reconciledText(run.reconciled)]]),
    ['service', document.sandbox ? 'sandbox: no money moved' : app.serviceName],
    ['ledger', app.place],
    ['capabilities', capabilityWords(document)],
  ]);
  return [facts, outcomeTable(document), nextSteps(run, { carriesOn, ...reasons }).join('\n')]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** What leaves the accounts with its fees, a line for each currency. */
function fundsLines({ funds }: RunDocument): string[][] {
  if (funds === null) return [];
  const { at, payouts, unpriced } = funds;
  const unknown = unpriced === 0 ? '' : `; no quote told the cost of ${unpriced} of them`;
  const needs = funds.needed.map(({ currency, needed, fees, estimate }) => [
    'needs',
    `${estimate ? 'about ' : ''}${needed} ${currency} with fees of ${fees}, by quotes of ${at} for ${payouts} payouts${unknown}`,
  ]);
  return [...needs, ...balanceLines(funds.needed).map((line) => ['balance', line])];
}

function capabilityWords({ capabilities }: RunDocument): string {
  const unknown = Object.entries(capabilities).flatMap(([name, holds]) => (holds ? [] : [name]));
  return unknown.length === 0
    ? 'all four hold'
    : `not known to hold, so no quote is proven dead: ${unknown.join(', ')}`;
}

function reconciledText(reconciled: Reconciled): string {
  return `${reconciledWords(reconciled)} payments on ${rfc3339(reconciled.at)}, statement ${reconciled.sha256}`;
}

/** Such as `reconciled 998 of 1000`. */
export function reconciledWords({ reconciled, payments }: Reconciled): string {
  return `reconciled ${reconciled} of ${payments}`;
}

/** A run's state, and why it is paused. */
function stateText({ state, pauseReason }: Run): string {
  return pauseReason === null ? state : `${state}: ${pauseReason}`;
}

/** A line for the rows and one for each currency, with a column for each outcome that occurs. */
function outcomeTable({ file, outcomes, totals }: RunDocument): string {
  const shown = OUTCOMES.filter((outcome) => outcomes[outcome] > 0);
  return columns(
    [
      ['', 'in the file', ...shown],
      ['rows', String(file.rows), ...shown.map((outcome) => String(outcomes[outcome]))],
      ...totals.map((total) => [total.currency, total.file, ...shown.map((outcome) => total[outcome])]),
    ],
    { rightFrom: 1 },
  );
}
