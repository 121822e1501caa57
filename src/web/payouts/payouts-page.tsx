import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { OUTCOMES, type Outcome, type Payout, type RefusedRow, type Run } from '../../payout.ts';
import { isRefused, type ReportRow, reportRow } from '../../report/row.ts';
import { SEARCHED_ROWS_MAX } from '../../runs/find-rows.ts';
import { Badge } from '../parts/badge.tsx';
import { shownAmountsIn, shownCount, shownDecimal } from '../parts/figures.ts';
import { Identity } from '../parts/identity.tsx';
import { OUTCOME_TONES, OUTCOME_WORDS, reasonWords, STATE_WORDS } from '../parts/outcome-words.ts';
import { CountedPages } from '../parts/pages.tsx';
import { Line, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { hrefOfRow } from './find-row.ts';

interface PayoutsProps {
  readonly run: Run;
  readonly search: { readonly outcome?: Outcome | undefined; readonly text: string; readonly page: number };
  readonly rows: readonly (Payout | RefusedRow)[];
  /** The place of the first row that is shown, and how many there are. */
  readonly first: number;
  readonly count: number;
  readonly pages: number;
  readonly isWhole: boolean;
}

/** The rows of a run: filtered by outcome, or found by reference. */
export function PayoutsPage(props: PayoutsProps) {
  const { run, search, rows, isWhole } = props;
  return (
    <>
      <p>
        <a href={`/runs/${run.id}`}>Back to the run</a>
      </p>
      <SearchForm {...props} />
      {isWhole ? null : (
        <p class="hint">
          Only {shownCount(SEARCHED_ROWS_MAX)} rows were searched: there may be more rows with this reference.
        </p>
      )}
      {rows.length === 0 ? <Nothing {...props} /> : <PayoutTable {...props} />}
      <p>
        <a href={hrefOf(run, { ...search, format: '.csv' })}>These rows as CSV</a>
      </p>
    </>
  );
}

function SearchForm({ run, search }: PayoutsProps) {
  return (
    <form method="get" action={`/runs/${run.id}/payouts`} class="payouts-search">
      <p class="field">
        <label class="form-label" htmlFor="search-outcome">
          Outcome
        </label>
        <select class="form-select" id="search-outcome" name="outcome">
          <option value="">any</option>
          {OUTCOMES.map((outcome) => (
            <option key={outcome} value={outcome} selected={outcome === search.outcome}>
              {OUTCOME_WORDS[outcome]}
            </option>
          ))}
        </select>
      </p>
      <p class="field">
        <label class="form-label" htmlFor="search-text">
          Reference
        </label>
        <input
          id="search-text"
          type="search"
          class="form-control"
          name="text"
          value={search.text}
          maxLength={200}
          aria-describedby="search-hint"
        />
        <small id="search-hint" class="hint">
          The whole reference exactly as in the file; capital letters and blanks matter.
        </small>
      </p>
      <p>
        <button type="submit" class="btn">
          Search
        </button>
      </p>
    </form>
  );
}

function Nothing({ run, search }: PayoutsProps) {
  if (run.purgedAt !== null) {
    return (
      <p class="empty">
        The rows of this run were removed on <Time at={run.purgedAt} />, as they are kept for a time only.
      </p>
    );
  }
  return (
    <p class="empty">
      {search.text === '' ? 'No row has this outcome.' : 'No row has this reference.'}{' '}
      <a href={`/runs/${run.id}/payouts`}>Show all rows</a>
    </p>
  );
}

function PayoutTable({ run, search, rows, first, count, pages }: PayoutsProps) {
  return (
    <>
      <Table
        caption={
          <>
            Rows {shownCount(first)} to {shownCount(first + rows.length - 1)} of {shownCount(count)}
          </>
        }
        columns={[
          { number: 'Line' },
          'Reference',
          'Beneficiary',
          { number: 'Amount' },
          'Outcome',
          'State',
          'Payment',
          'Reason',
        ]}
      >
        {rows.map((row) => (
          <PayoutLine key={row.line} run={run} row={row} />
        ))}
      </Table>
      <CountedPages page={search.page} pages={pages} hrefOf={(page) => hrefOf(run, { ...search, page })} />
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
      </td>
      <td>{STATE_WORDS[isRefused(row) ? 'refused' : row.state]}</td>
      <td>
        <code>{escapeUnseen(cells.paymentId ?? '')}</code>
      </td>
      <td>{escapeUnseen(shownAmountsIn(reasonOf(cells)))}</td>
    </Line>
  );
}

function hrefOf(
  run: Run,
  {
    outcome,
    text,
    page = 1,
    format = '',
  }: { outcome?: Outcome | undefined; text: string; page?: number; format?: string },
): string {
  const query = new URLSearchParams();
  if (outcome !== undefined) query.set('outcome', outcome);
  if (text !== '') query.set('text', text);
  if (page > 1 && format === '') query.set('page', String(page));
  return `/runs/${run.id}/payouts${format}${query.size === 0 ? '' : `?${query}`}`;
}
