import { rfc3339 } from '../../clock.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { formatAmount, type Money } from '../../money.ts';
import { OUTCOMES, type Outcome } from '../../payout.ts';
import type { Dimension, PeriodLine, PeriodReport } from '../../report/period/period.ts';
import type { PeriodRange } from '../../report/period/period-range.ts';
import { Field } from '../parts/fields.tsx';
import { shownAmount, shownCount, shownDecimal } from '../parts/figures.ts';
import { OUTCOME_WORDS } from '../parts/outcome-words.ts';
import { Table } from '../parts/table.tsx';

/** More lines of a table are in the downloads. */
const LINES_MAX = 200;
const SECOND_MS = 1000;

interface PeriodProps {
  /** Undefined until a period is asked for. */
  readonly report: (PeriodReport & { readonly range: PeriodRange }) | undefined;
  readonly today: string;
}

const TABLES: readonly (readonly [by: Dimension, caption: string, head: string])[] = [
  ['currency', 'By currency', 'Currency'],
  ['corridor', 'By corridor', 'Corridor'],
  ['reason', 'Why rows were not paid', 'Reason'],
  ['corridor-reason', 'Why rows were not paid, by corridor', 'Corridor and reason'],
  ['run', 'By run: together these are the tables above', 'Run'],
  ['beneficiary', 'By beneficiary', 'Beneficiary'],
  ['beneficiary-reason', 'Why rows were not paid, by beneficiary', 'Beneficiary and reason'],
];

/** What the runs of a period add up to, and what is still open from before it. */
export function PeriodPage({ report, today }: PeriodProps) {
  return (
    <>
      <PeriodForm range={report?.range} today={today} />
      {report === undefined ? <p class="empty">Choose a period: all runs count that were submitted in it.</p> : null}
      {report === undefined ? null : <Report report={report} />}
    </>
  );
}

function PeriodForm({ range, today }: { range: PeriodRange | undefined; today: string }) {
  const shown = {
    from: range === undefined ? `${today.slice(0, 7)}-01` : rfc3339(range.from).slice(0, 10),
    to: range === undefined ? today : rfc3339(range.end - 1).slice(0, 10),
  };
  return (
    <>
      <form method="get" action="/period" class="list-search">
        {FIELDS.map(({ name, label }) => (
          <Field key={name} label={label} name={name} value={shown[name]} isDay required />
        ))}
        <button type="submit" class="btn">
          Show
        </button>
      </form>
      <p>
        <a href={`/period?day=${today}`}>Today</a>, <a href={`/period?month=${today.slice(0, 7)}`}>this month</a>,{' '}
        <a href={`/period?month=${monthBefore(today)}`}>last month</a>. Days end at midnight UTC.
      </p>
    </>
  );
}

const FIELDS = [
  { name: 'from', label: 'First day' },
  { name: 'to', label: 'Last day' },
] as const;

function monthBefore(today: string): string {
  const [year = 0, month = 1] = today.split('-').map(Number);
  return rfc3339(Date.UTC(year, month - 2)).slice(0, 7);
}

function Report({ report }: { report: NonNullable<PeriodProps['report']> }) {
  const { from, end, faults, runs, leftOut, earlier, lines } = report;
  const query = `from=${rfc3339(from).slice(0, 10)}&to=${rfc3339(end - 1).slice(0, 10)}`;
  return (
    <>
      <p>
        <b>
          {faults.length === 0
            ? `This report ties with the reports of its ${shownCount(runs.length)} runs.`
            : 'THIS REPORT DOES NOT TIE: do not book from it.'}
        </b>
      </p>
      {faults.length === 0 ? null : (
        <ul>
          {faults.map((fault) => (
            <li key={fault}>{fault}</li>
          ))}
        </ul>
      )}
      <p>
        Download: <a href={`/period/download?${query}&format=csv`}>CSV</a>,{' '}
        <a href={`/period/download?${query}&format=xlsx`}>workbook</a>,{' '}
        <a href={`/period/download?${query}&format=json`}>JSON</a>
      </p>
      {leftOut.length === 0 ? null : (
        <p>In no table, as their rows were removed or are being recorded: {leftOut.join(', ')}</p>
      )}
      {TABLES.map(([by, caption, head]) => (
        <Lines key={by} caption={caption} head={head} lines={lines.filter((line) => line.by === by)} />
      ))}
      <h2>Open from before</h2>
      <Earlier earlier={earlier} />
    </>
  );
}

function Lines({ caption, head, lines }: { caption: string; head: string; lines: readonly PeriodLine[] }) {
  if (lines.length === 0) return null;
  const outcomes = OUTCOMES.filter((outcome) => lines.some((line) => line.outcomes[outcome] > 0));
  const numbers = [...outcomes.map((outcome) => OUTCOME_WORDS[outcome]), ...MONEY].map((number) => ({ number }));
  return (
    <>
      <Table caption={caption} columns={[head, ...numbers]}>
        {lines.slice(0, LINES_MAX).map((line) => (
          <Line key={`${line.name} ${line.currency}`} line={line} outcomes={outcomes} />
        ))}
      </Table>
      {lines.length <= LINES_MAX ? null : (
        <p>and {shownCount(lines.length - LINES_MAX)} more: the downloads have all of them</p>
      )}
    </>
  );
}

const MONEY = ['Debited', 'Arrived', 'Fees', 'Quoted rate', 'Rate', 'With fees', 'Seconds to the end'];

function Line({ line, outcomes }: { line: PeriodLine; outcomes: readonly Outcome[] }) {
  const { by, name, currency, debited, arrived, fees, quotedRate, rate, rateWithFees, finalMs } = line;
  const seconds = finalMs === null ? '' : shownDecimal((finalMs / SECOND_MS).toFixed(1));
  const figures = [moneyWords(debited), moneyWords(arrived), moneyWords(fees), quotedRate, rate, rateWithFees, seconds];
  return (
    <tr>
      <th scope="row">{by === 'run' ? <a href={`/runs/${name}`}>{name}</a> : escapeUnseen(name)}</th>
      {outcomes.map((outcome) => (
        <td key={outcome} class="number">
          {line.outcomes[outcome] === 0 ? '' : shownCount(line.outcomes[outcome])}
          {line.amounts[outcome] === 0n ? null : (
            <div class="small">{`${shownAmount({ minor: line.amounts[outcome], currency })} ${currency}`}</div>
          )}
        </td>
      ))}
      {figures.map((figure, at) => (
        <td key={MONEY[at]} class="number">
          {figure ?? ''}
        </td>
      ))}
    </tr>
  );
}

function moneyWords(money: readonly Money[]): string {
  return money.map((one) => `${shownDecimal(formatAmount(one))} ${one.currency}`).join(', ');
}

function Earlier({ earlier }: Pick<PeriodReport, 'earlier'>) {
  if (earlier.length === 0) return <p class="empty">No run from before this period has open rows.</p>;
  return (
    <Table caption="Rows of earlier runs that are still open" columns={['Run', 'Open']}>
      {earlier.slice(0, LINES_MAX).map(({ runId, outcomes }) => (
        <tr key={runId}>
          <th scope="row">
            <a href={`/runs/${runId}`}>{runId}</a>
          </th>
          <td>
            {OUTCOMES.filter((outcome) => outcomes[outcome] !== undefined).map((outcome) => (
              <a key={outcome} href={`/runs/${runId}/payouts?outcome=${outcome}`}>
                {shownCount(outcomes[outcome] ?? 0)} {OUTCOME_WORDS[outcome]}{' '}
              </a>
            ))}
          </td>
        </tr>
      ))}
    </Table>
  );
}
