import type { App } from '../../app.ts';
import { Refusal } from '../../refusal.ts';
import { isRefused } from '../../report/row.ts';
import type { ReportSummary } from '../../report/summary.ts';
import { reportableRun, reportSource } from '../../runs/after/report.ts';
import { requireTrueRows } from '../../runs/safety/shown-seals.ts';
import { openZone } from '../../zone.ts';
import { printPage } from '../parts/print-page.tsx';
import { Confirmation } from '../payouts/confirmation.tsx';
import { Problem } from '../problem.ts';
import { PrintedReport, readPrinted } from './printed-report.tsx';

/** The page for paper of a run's report, whose styles lie in files; and what its rows add up to. */
export async function reportPage(
  app: App,
  runId: string,
): Promise<{ readonly html: string; readonly summary: ReportSummary }> {
  const printed = await readPrinted(await reportSource(app, runId));
  const content = { title: `Report of run ${runId}`, body: PrintedReport(printed) };
  return { html: asFile(printPage(content, about(app))), summary: printed.summary };
}

/** The confirmation of one payment. Throws a Refusal where there is none. */
export async function confirmationPage(
  app: App,
  { runId, line }: { readonly runId: string; readonly line: number },
): Promise<string> {
  const run = await reportableRun(app, runId);
  const row = await app.ledger.runs.row(runId, line);
  if (row === undefined || isRefused(row))
    throw new Refusal(`Run ${runId} has no payout on line ${line}.`, 'Name the line of a row that was paid.');
  await requireTrueRows(app, run, [row]);
  try {
    const body = Confirmation({ payout: row, now: app.clock.now() });
    return asFile(printPage({ title: 'Payment confirmation', body }, about(app)));
  } catch (error) {
    if (error instanceof Problem) throw new Refusal(error.message, error.remedy, { cause: error });
    throw error;
  }
}

function about({ config, serviceName }: App) {
  return { zone: openZone(config.limits?.zone ?? 'UTC'), serviceName };
}

const POLICY = `<meta http-equiv="Content-Security-Policy" content="script-src 'none'; object-src 'none'; frame-src 'none'"/>`;

/** Styles by their files, no script, and no links: what they lead to is on no disk. */
function asFile(html: string): string {
  const styles = new URL('../static/', import.meta.url).href;
  return html
    .replace('<head>', `<head>${POLICY}`)
    .replaceAll(/ href="\/(?!static\/)[^"]*"/g, '')
    .replaceAll('"/static/', `"${styles}`);
}
