import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { isRefused, reportRow } from '../../report/row.ts';
import type { Found, FoundRow } from '../../runs/search/search.ts';
import { Badge } from '../parts/badge.tsx';
import { shownCount, shownDecimal } from '../parts/figures.ts';
import { Identity } from '../parts/identity.tsx';
import { OUTCOME_TONES, OUTCOME_WORDS } from '../parts/outcome-words.ts';
import { Line, Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { hrefOfRow } from '../payouts/find-row.ts';
import { runStatus } from '../run/run-status.ts';

/** Payouts and runs that were found in all runs. */
export function SearchPage({ text, found }: { text: string; found: Found }) {
  const { runs, rows, hasMore, isWhole } = found;
  return (
    <>
      {isWhole ? null : <p class="proposal">Older rows are still being read: search again in a moment.</p>}
      {runs.length + rows.length === 0 ? (
        <p class="empty">
          {text.trim() === '' ? '' : `Nothing was found for “${escapeUnseen(text)}”. `}
          Search for any part of a reference, the name or id of a beneficiary, an amount, a payment id, a run or the
          name of its file.
        </p>
      ) : null}
      {rows.length === 0 ? null : <Rows rows={rows} hasMore={hasMore} />}
      {runs.length === 0 ? null : <Runs runs={runs} />}
    </>
  );
}

function Rows({ rows, hasMore }: Pick<Found, 'rows' | 'hasMore'>) {
  return (
    <Table
      caption={hasMore ? `Payouts, the newest ${shownCount(rows.length)}` : 'Payouts'}
      columns={['Reference', 'Beneficiary', { number: 'Amount' }, 'Outcome', 'Run']}
    >
      {rows.map((found) => (
        <Row key={`${found.runId} ${found.row.line}`} {...found} />
      ))}
    </Table>
  );
}

function Row({ runId, row }: FoundRow) {
  const cells = reportRow(row);
  const { amountType, sourceCurrency, destinationCurrency } = cells;
  const currency = amountType === 'DESTINATION_AMOUNT' ? destinationCurrency : sourceCurrency;
  return (
    <Line>
      <th scope="row">
        <a href={hrefOfRow({ run: runId, line: row.line })}>{escapeUnseen(cells.reference ?? `line ${row.line}`)}</a>
      </th>
      <td>
        <Identity id={cells.beneficiaryIdentityId ?? ''} name={row.beneficiaryName} />
      </td>
      <td class="number">
        {isRefused(row) ? escapeUnseen(cells.amount ?? '') : shownDecimal(cells.amount ?? '')}{' '}
        <abbr>{escapeUnseen(currency ?? '')}</abbr>
      </td>
      <td>
        <Badge tone={OUTCOME_TONES[cells.outcome]}>{OUTCOME_WORDS[cells.outcome]}</Badge>
      </td>
      <td>
        <a href={`/runs/${runId}`}>{runId}</a>
      </td>
    </Line>
  );
}

function Runs({ runs }: Pick<Found, 'runs'>) {
  return (
    <Table caption="Runs" columns={['File', 'Run', { number: 'Rows' }, 'Status', 'Handed in']}>
      {runs.map((run) => (
        <Line key={run.id}>
          <th scope="row">
            <a href={`/runs/${run.id}`}>{escapeUnseen(run.fileName)}</a>
          </th>
          <td>{run.id}</td>
          <td class="number">{shownCount(run.rows)}</td>
          <td>
            <Badge tone={runStatus(run).tone}>{runStatus(run).words}</Badge>
          </td>
          <td>
            <Time at={run.createdAt} />
          </td>
        </Line>
      ))}
    </Table>
  );
}
