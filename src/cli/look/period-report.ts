import { z } from 'zod';
import type { App } from '../../app.ts';
import { formatAmount } from '../../money.ts';
import { OUTCOMES } from '../../payout.ts';
import { EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { marked } from '../../report/csv.ts';
import { jsonText } from '../../report/json-text.ts';
import type { PeriodLine, PeriodReport } from '../../report/period.ts';
import { periodCsv, periodDocument, periodFacts, periodXlsx } from '../../report/period-tables.ts';
import { writeWholeFile } from '../../report/whole-file.ts';
import { readPeriod } from '../../runs/period.ts';
import { columns } from '../columns.ts';
import { printAll, safeText, say } from '../print.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** A day, in UTC. */
export const day = z.iso.date('must be a day such as 2026-01-31').transform((text) => Date.parse(`${text}T00:00:00Z`));

interface PeriodOptions {
  readonly from: number;
  /** The last day of it. */
  readonly to: number;
  readonly format: 'csv' | 'xlsx' | 'json' | 'summary';
  readonly bom: boolean;
  readonly output: string | undefined;
}

/** `payrun report --from --to`: what the runs that were submitted in a period add up to. Exits 1 when it does not tie with their own reports. */
export async function reportPeriod(app: App, { from, to, output, ...options }: PeriodOptions): Promise<ExitCode> {
  if (to < from) {
    throw new Refusal('The period ends before it begins.', {
      exitCode: EXIT.usage,
      remedy: 'Give --from and --to the other way round.',
    });
  }
  const report = await readPeriod(app, { from, end: to + DAY_MS });
  if (report.faults.length > 0) {
    say(['THIS REPORT DOES NOT TIE: do not book from it.', ...report.faults].join('\n  '));
  }
  const content = contentOf(report, options);
  if (output === undefined) await printAll(content);
  else {
    await writeWholeFile(output, content);
    say(`wrote ${safeText(output)}`);
  }
  return report.faults.length === 0 ? EXIT.ok : EXIT.defect;
}

function contentOf(
  report: PeriodReport,
  { format, bom }: Pick<PeriodOptions, 'format' | 'bom'>,
): AsyncIterable<string | Uint8Array> {
  switch (format) {
    case 'csv':
      return marked(alone(periodCsv(report.lines)), { bom });
    case 'xlsx':
      return periodXlsx(report);
    case 'json':
      return alone(`${jsonText(periodDocument(report))}\n`);
    case 'summary':
      return alone(`${safeText(summaryOf(report))}\n`);
  }
}

async function* alone(text: string): AsyncGenerator<string, void> {
  yield text;
}

function summaryOf(report: PeriodReport): string {
  const lines = report.lines.filter(({ by }) => by !== 'beneficiary');
  const shown = OUTCOMES.filter((outcome) => lines.some(({ outcomes }) => outcomes[outcome] > 0));
  const table = [
    ['', '', ...shown, 'debited', 'fees', 'rate', 'with fees'],
    ...lines.map((line) => [line.by, line.name, ...shown.map((outcome) => cellOf(line, outcome)), ...moneyCells(line)]),
  ];
  return [columns(periodFacts(report)), ...(lines.length === 0 ? [] : [columns(table, { rightFrom: 2 })])].join('\n\n');
}

function cellOf({ outcomes, amounts, currency }: PeriodLine, outcome: (typeof OUTCOMES)[number]): string {
  if (outcomes[outcome] === 0) return '-';
  return `${outcomes[outcome]}: ${formatAmount({ minor: amounts[outcome], currency })} ${currency}`;
}

function moneyCells({ debited, fees, rate, rateWithFees }: PeriodLine): string[] {
  const sums = [debited, fees].map((money) => money.map((one) => `${formatAmount(one)} ${one.currency}`).join(', '));
  return [...sums, rate ?? '', rateWithFees ?? ''];
}
