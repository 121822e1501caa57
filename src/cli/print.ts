import { type App, nameOf } from '../app.ts';
import { formatAmount } from '../money.ts';
import { OUTCOMES, type Run } from '../payout.ts';
import { type RunDocument, runDocument } from '../report/document.ts';
import { reportPaths } from '../runs/report.ts';

/** Data, on standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value));
}

/** Progress and remarks, on standard error. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** A run as `run`, `submit`, `status`, `watch` and `list` give it with `--json`. */
export async function documentOf(app: Pick<App, 'config' | 'serviceName'>, run: Run): Promise<RunDocument> {
  const isSandbox = app.serviceName === nameOf(undefined);
  return runDocument(run, { sandbox: isSandbox, reports: await reportPaths(app.config.reportDir, run) });
}

/** A run for a terminal: state, outcomes, money, reports. */
export function describeRun(document: RunDocument, run: Run): string {
  const outcomes = OUTCOMES.filter((outcome) => document.outcomes[outcome] > 0);
  return [
    `run ${document.runId}: ${document.state}${run.pauseReason === null ? '' : ` (${run.pauseReason})`}`,
    `file ${document.file.name}, ${document.file.rows} rows${document.sandbox ? ' · sandbox: no money moved' : ''}`,
    `rows: ${outcomes.map((outcome) => `${document.outcomes[outcome]} ${outcome}`).join(', ') || 'none yet'}`,
    ...run.fileTotals.map((total) => `  ${total.currency} ${formatAmount(total)}`),
    ...document.reports.map((path) => `report ${path}`),
  ].join('\n');
}
