import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { formatAmount } from '../../money.ts';
import type { Outcome, Payout, RefusedRow, Run } from '../../payout.ts';
import type { Booking } from '../../report/booking.ts';
import { summaryJson } from '../../report/document.ts';
import { isRefused, reportRow } from '../../report/row.ts';
import type { ReportSource } from '../../report/source.ts';
import { type ReportSummary, summarise } from '../../report/summary.ts';
import { ROW_WORDS } from '../../report/summary-text.ts';
import { type FileTotal, perOutcome } from '../../report/totals.ts';
import { reasonWords } from '../../runs/decide/reason-words.ts';
import { shownAmount, shownCount, shownDecimal } from '../parts/figures.ts';
import { Bar, OutcomeBar } from '../parts/outcome-bar.tsx';
import { OUTCOME_WORDS } from '../parts/outcome-words.ts';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { TotalsTable } from '../parts/totals-table.tsx';
import { openOverTime, type PaidBy } from '../run/over-time.ts';
import { BARS_MAX, GrowthCharts, ReasonBars } from '../run/run-charts.tsx';
import { RUN_STATE_WORDS } from '../run/run-status.ts';
import type { ReasonCount } from '../run/run-sums.ts';

const NOT_PAID: readonly Outcome[] = ['unknown', 'failed', 'returned', 'rejected', 'held', 'cancelled', 'refused'];
/** Different reasons that are counted apart; a service has some dozens of codes. */
const REASONS_MAX = 200;

interface Reason {
  readonly outcome: Outcome;
  readonly code: string;
  readonly rows: number;
}

export interface PrintedProps {
  readonly summary: ReportSummary;
  /** Why rows were not paid, most rows first. */
  readonly reasons: readonly Reason[];
  /** By and by; empty where nothing was paid. */
  readonly paidBy: readonly PaidBy[];
}

/** Reads the rows of a report once, for its page. */
export async function readPrinted(source: ReportSource): Promise<PrintedProps> {
  const reasons = new Map<string, Reason>();
  const overTime = openOverTime();

  async function* watched(): AsyncGenerator<readonly (Payout | RefusedRow)[], void> {
    for await (const batch of source.rows) {
      for (const row of batch) {
        if (!isRefused(row)) overTime.add(row);
        const { outcome, reasonCode } = reportRow(row);
        if (NOT_PAID.includes(outcome)) count(outcome, reasonCode ?? 'none given');
      }
      yield batch;
    }
  }

  function count(outcome: Outcome, told: string): void {
    const code = reasons.has(`${outcome} ${told}`) || reasons.size < REASONS_MAX ? told : 'others';
    const name = `${outcome} ${code}`;
    reasons.set(name, { outcome, code, rows: (reasons.get(name)?.rows ?? 0) + 1 });
  }

  const summary = await summarise({ ...source, rows: watched() });
  const counted = [...reasons.values()].toSorted((one, other) => other.rows - one.rows);
  return { summary, reasons: counted, paidBy: overTime.result() };
}

/** The report of a run on paper: whether it ties, what it is about, its rows and money, what to book, and why rows were not paid. */
export function PrintedReport({ summary, reasons, paidBy }: PrintedProps) {
  const document = summaryJson(summary);
  const { run } = summary.facts;
  return (
    <>
      <p>
        <b>{summary.ties ? 'This report ties.' : 'THIS REPORT DOES NOT TIE: do not book from it.'}</b>
      </p>
      {document.faults.length === 0 ? null : (
        <ul>
          {document.faults.map((fault) => (
            <li key={fault}>{fault}</li>
          ))}
        </ul>
      )}
      <dl class="facts">
        <dt>File</dt>
        <dd>
          {escapeUnseen(run.fileName)}, {shownCount(run.rows)} {run.rows === 1 ? 'row' : 'rows'}
        </dd>
        <dt>SHA-256</dt>
        <dd>
          <code>{run.fileSha256}</code>
        </dd>
        <dt>State</dt>
        <dd>{RUN_STATE_WORDS[run.state]}</dd>
        <dt>Submitted</dt>
        <dd>
          <Time at={run.createdAt} /> by {run.createdBy}
        </dd>
        <dt>Approved by</dt>
        <dd>{run.approvals.map(({ by }) => by).join(', ') || 'nobody was asked'}</dd>
        <dt>Service</dt>
        <dd>
          {document.service}, {document.environment}
        </dd>
        <dt>Made</dt>
        <dd>
          <Time at={Date.parse(document.createdAt)} /> by payrun {document.version}
        </dd>
        <dt>Version</dt>
        <dd>{versionWords(run)}</dd>
        <dt>Rows in the ledger</dt>
        <dd>{ROW_WORDS[summary.hashes.rows]}</dd>
        <dt>Audit log</dt>
        <dd>
          <code>{document.auditHead ?? 'empty'}</code>
        </dd>
      </dl>
      <h2>Rows and money</h2>
      <OutcomeBar outcomes={document.outcomes} hrefOf={(outcome) => `/runs/${run.id}/payouts?outcome=${outcome}`} />
      <MoneyBars totals={summary.totals} />
      <TotalsTable {...document} />
      {paidBy.length === 0 ? null : (
        <>
          <h2>Payouts over time</h2>
          <div class="cards charts">
            <GrowthCharts paidBy={paidBy} />
          </div>
        </>
      )}
      <h2>For booking</h2>
      <BookingTable booking={summary.booking} />
      <h2>Not paid</h2>
      {reasons.length === 0 ? null : <ReasonBars reasons={reasons.slice(0, BARS_MAX).map(drawnReason)} />}
      <ReasonTable reasons={reasons} />
    </>
  );
}

function drawnReason({ outcome, code, rows }: Reason): ReasonCount {
  return { code, words: `${OUTCOME_WORDS[outcome]}: ${code}`, isHeld: outcome === 'held', rows };
}

/** How this reading stands to the reports that were written. */
function versionWords({ reportVersion, reportedChanges, changes }: Run): string {
  if (reportVersion === 0) return 'none was written yet';
  return reportedChanges === changes
    ? `as v${reportVersion}`
    : `newer than v${reportVersion}, the last one that was written`;
}

function BookingTable({ booking }: { booking: Booking }) {
  const numbers = ['Payments', 'Debited', 'Fees', 'Payments returned', 'Returned', 'Their fees'];
  if (booking.entries.length === 0) return <p class="empty">Nothing was debited.</p>;
  return (
    <Table
      hasNoLinks
      caption="What was debited, by currency"
      columns={['Currency', ...numbers.map((number) => ({ number }))]}
    >
      {booking.entries.map(({ currency, ...entry }) => (
        <tr key={currency}>
          <th scope="row">{currency}</th>
          <td class="number">{shownCount(entry.debitedPayments)}</td>
          <td class="number">{shownAmount({ minor: entry.debited, currency })}</td>
          <td class="number">{shownDecimal(formatAmount(entry.fees))}</td>
          <td class="number">{shownCount(entry.returnedPayments)}</td>
          <td class="number">{shownAmount({ minor: entry.returned, currency })}</td>
          <td class="number">{shownDecimal(formatAmount(entry.returnedFees))}</td>
        </tr>
      ))}
    </Table>
  );
}

function ReasonTable({ reasons }: Pick<PrintedProps, 'reasons'>) {
  if (reasons.length === 0) return <p class="empty">There is no such row.</p>;
  return (
    <Table hasNoLinks caption="Why rows were not paid" columns={['Outcome', 'Reason', { number: 'Rows' }]}>
      {reasons.map(({ outcome, code, rows }) => (
        <tr key={`${outcome} ${code}`}>
          <th scope="row">{OUTCOME_WORDS[outcome]}</th>
          <td>{[reasonWords(code), escapeUnseen(code)].filter((part) => part !== undefined).join(': ')}</td>
          <td class="number">{shownCount(rows)}</td>
        </tr>
      ))}
    </Table>
  );
}

/** The money of a file as a bar for each currency, with a part for each outcome. */
function MoneyBars({ totals }: { totals: readonly FileTotal[] }) {
  return (
    <div class="outcomes">
      {totals.map(({ currency, file, outcomes }) => {
        const amountOf = (outcome: Outcome): string =>
          `${shownAmount({ minor: outcomes[outcome], currency })} ${currency}`;
        return (
          <div key={currency}>
            <p class="label">
              {shownAmount({ minor: file, currency })} {currency}
            </p>
            <Bar outcomes={drawn(outcomes, currency)} wordsOf={amountOf} />
          </div>
        );
      })}
    </div>
  );
}

/** How wide each part is drawn: nothing is added up with it. */
function drawn(outcomes: FileTotal['outcomes'], currency: string): Record<Outcome, number> {
  return perOutcome((outcome) => Number(formatAmount({ minor: outcomes[outcome], currency })));
}
