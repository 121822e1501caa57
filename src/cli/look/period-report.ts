import { Readable } from 'node:stream';
import type { App } from '../../app.ts';
import { formatAmount } from '../../money.ts';
import { OUTCOMES } from '../../payout.ts';
import type { PeriodLine, PeriodReport } from '../../report/period/period.ts';
import type { PeriodRange } from '../../report/period/period-range.ts';
import { periodContent, periodFacts } from '../../report/period/period-tables.ts';
import { readPeriod } from '../../runs/period.ts';
import { columns } from '../columns.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { safeText, say } from '../print.ts';
import { writeOut } from '../write-out.ts';

interface PeriodOptions {
  readonly format: 'csv' | 'xlsx' | 'json' | 'summary';
  readonly bom: boolean;
  readonly output: string | undefined;
}

/** `payrun report` of a period: what the runs that were submitted in it add up to. Exits 1 when it does not tie with their own reports. */
export async function reportPeriod(
  app: App,
  range: PeriodRange,
  { format, bom, output }: PeriodOptions,
): Promise<ExitCode> {
  const report = await readPeriod(app, range);
  if (report.faults.length > 0) {
    say(['THIS REPORT DOES NOT TIE: do not book from it.', ...report.faults].join('\n  '));
  }
  const summary = Readable.from([`${safeText(summaryOf(report))}\n`]);
  const content = format === 'summary' ? summary : periodContent(report, { format, bom });
  await writeOut({ output, format }, content);
  return report.faults.length === 0 ? EXIT.ok : EXIT.defect;
}

function summaryOf(report: PeriodReport): string {
  const lines = report.lines.filter(({ by }) => !by.startsWith('beneficiary') && by !== 'run');
  const shown = OUTCOMES.filter((outcome) => lines.some(({ outcomes }) => outcomes[outcome] > 0));
  const table = [
    ['', '', ...shown, 'debited', 'fees', 'quoted rate', 'rate', 'with fees'],
    ...lines.map((line) => [line.by, line.name, ...shown.map((outcome) => cellOf(line, outcome)), ...moneyCells(line)]),
  ];
  return [columns(periodFacts(report)), ...(lines.length === 0 ? [] : [columns(table, { rightFrom: 2 })])].join('\n\n');
}

function cellOf({ outcomes, amounts, currency }: PeriodLine, outcome: (typeof OUTCOMES)[number]): string {
  if (outcomes[outcome] === 0) return '-';
  return `${outcomes[outcome]}: ${formatAmount({ minor: amounts[outcome], currency })} ${currency}`;
}

function moneyCells({ debited, fees, quotedRate, rate, rateWithFees }: PeriodLine): string[] {
  const sums = [debited, fees].map((money) => money.map((one) => `${formatAmount(one)} ${one.currency}`).join(', '));
  return [...sums, quotedRate ?? '', rate ?? '', rateWithFees ?? ''];
}
