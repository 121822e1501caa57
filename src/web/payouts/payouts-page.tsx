import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { OUTCOMES, type Payout, type RefusedRow, type Run } from '../../payout.ts';
import { isRefused, type ReportRow, reportRow } from '../../report/row.ts';
import { reasonWords } from '../../runs/decide/reason-words.ts';
import { LISTED_ROWS_MAX, SEARCHED_ROWS_MAX } from '../../runs/search/large-run.ts';
import type { RowColumn, RowSort } from '../../runs/search/row-search.ts';
import { MoneyFields, SortChoice } from '../lists/list-fields.tsx';
import { Badge } from '../parts/badge.tsx';
import { Choice, Field } from '../parts/fields.tsx';
import { shownAmountsIn, shownCount, shownDecimal } from '../parts/figures.ts';
import { Identity } from '../parts/identity.tsx';
import { OUTCOME_TONES, OUTCOME_WORDS, STATE_WORDS } from '../parts/outcome-words.ts';
import { CountedPages } from '../parts/pages.tsx';
import { Line, type SortLinks, sortLinks, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { hrefOfRow } from './find-row.ts';
import { hrefOfRows, type RowsWanted } from './wanted.ts';

interface PayoutsProps {
  readonly run: Run;
  readonly wanted: RowsWanted;
  readonly rows: readonly (Payout | RefusedRow)[];
  /** The place of the first row that is shown, and how many there are. */
  readonly first: number;
  readonly count: number;
  readonly page: number;
  readonly pages: number;
  readonly isWhole: boolean;
}

/** Above the title of the list: its run. */
export function payoutsHead({ id }: Run) {
  return {
    above: (
      <>
        <a href="/runs">Runs</a> / <a href={`/runs/${id}`}>{id}</a>
      </>
    ),
  };
}

/** The rows of a run, sorted and narrowed down. */
export function PayoutsPage(props: PayoutsProps) {
  const { run, wanted, rows, isWhole } = props;
  return (
    <>
      <SearchForm run={run} wanted={wanted} />
      {isWhole ? null : (
        <p class="hint">
          Only {shownCount(SEARCHED_ROWS_MAX)} rows were searched: there may be more rows with this reference.
        </p>
      )}
      {rows.length === 0 ? <Nothing run={run} /> : <PayoutTable {...props} />}
      <p>
        <a href={hrefOfRows(run.id, wanted, '.csv')}>These rows as CSV</a>
      </p>
    </>
  );
}

const SORTS: readonly (readonly [RowSort, string])[] = [
  ['line', 'line of the file'],
  ['reference', 'reference'],
  ['beneficiary', 'beneficiary'],
  ['-amount', 'amount, largest first'],
  ['amount', 'amount, smallest first'],
  ['outcome', 'outcome'],
];

/** A large run is found by outcome and whole reference alone. */
function SearchForm({ run, wanted }: Pick<PayoutsProps, 'run' | 'wanted'>) {
  const isLarge = run.rows > LISTED_ROWS_MAX;
  return (
    <form method="get" action={`/runs/${run.id}/payouts`} class="list-search">
      <Choice
        label="Outcome"
        name="outcome"
        value={wanted.outcome}
        options={[['', 'any'], ...OUTCOMES.map((outcome) => [outcome, OUTCOME_WORDS[outcome]] as const)]}
      />
      <Field
        label={isLarge ? 'Reference, exactly as in the file' : 'Reference or beneficiary, any part'}
        name="text"
        value={wanted.text}
        maxLength={200}
      />
      {isLarge ? null : (
        <>
          <MoneyFields currencies={currenciesOf(run)} wanted={wanted} />
          <SortChoice sorts={SORTS} sort={wanted.sort} />
        </>
      )}
      <button type="submit" class="btn">
        Show
      </button>
    </form>
  );
}

function currenciesOf({ fileTotals }: Run): string[] {
  return fileTotals.map(({ currency }) => currency).toSorted();
}

function Nothing({ run }: Pick<PayoutsProps, 'run'>) {
  if (run.purgedAt !== null) {
    return (
      <p class="empty">
        The rows of this run were removed on <Time at={run.purgedAt} />, as they are kept for a time only.
      </p>
    );
  }
  return (
    <p class="empty">
      No row is like that. <a href={hrefOfRows(run.id, {})}>Show all rows</a>
    </p>
  );
}

function PayoutTable({ run, wanted, rows, first, count, page, pages }: PayoutsProps) {
  const sorts = sortLinks<RowColumn>(wanted.sort, (sort) => hrefOfRows(run.id, { ...wanted, sort }));
  const by: SortLinks<RowColumn> = run.rows > LISTED_ROWS_MAX ? () => undefined : sorts;
  return (
    <>
      <Table
        caption={
          <>
            Rows {shownCount(first)} to {shownCount(first + rows.length - 1)} of {shownCount(count)}
          </>
        }
        columns={[
          { number: 'Line', sorts: by('line') },
          { text: 'Reference', sorts: by('reference') },
          { text: 'Beneficiary', sorts: by('beneficiary') },
          { number: 'Amount', sorts: by('amount', 'down') },
          { text: 'Outcome', sorts: by('outcome') },
          'Payment',
          'Reason',
        ]}
      >
        {rows.map((row) => (
          <PayoutLine key={row.line} run={run} row={row} />
        ))}
      </Table>
      <CountedPages page={page} pages={pages} hrefOf={(other) => hrefOfRows(run.id, { ...wanted, page: other })} />
    </>
  );
}

function reasonOf({ reason, reasonCode }: Pick<ReportRow, 'reason' | 'reasonCode'>): string {
  return reason ?? reasonWords(reasonCode ?? '') ?? reasonCode ?? '';
}

function PayoutLine({ run, row }: { run: Run; row: Payout | RefusedRow }) {
  const cells = reportRow(row);
  return (
    <Line>
      <td class="number">{row.line}</td>
      <th scope="row">
        <a href={hrefOfRow({ run: run.id, line: row.line })}>{escapeUnseen(cells.reference ?? `line ${row.line}`)}</a>
      </th>
      <td>
        <Identity id={cells.beneficiaryIdentityId ?? ''} name={row.beneficiaryName} />
        {cells.originatorIdentityId === null ? null : (
          <small class="d-block">
            for <Identity id={cells.originatorIdentityId} name={row.originatorName} />
          </small>
        )}
      </td>
      <td class="number">
        {isRefused(row) ? escapeUnseen(cells.amount ?? '') : shownDecimal(cells.amount ?? '')}{' '}
        <abbr>
          {escapeUnseen(
            (cells.amountType === 'DESTINATION_AMOUNT' ? cells.destinationCurrency : cells.sourceCurrency) ?? '',
          )}
        </abbr>
      </td>
      <td>
        <Badge tone={OUTCOME_TONES[cells.outcome]}>{OUTCOME_WORDS[cells.outcome]}</Badge>
        {cells.outcome === 'unknown' && !isRefused(row) ? <div class="small">{STATE_WORDS[row.state]}</div> : null}
      </td>
      <td>
        <code>{escapeUnseen(cells.paymentId ?? '')}</code>
      </td>
      <td>{escapeUnseen(shownAmountsIn(reasonOf(cells)))}</td>
    </Line>
  );
}
