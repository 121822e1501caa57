import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Statement } from '../../intake/statement/read-statement.ts';
import type { Match } from '../../report/statement/match.ts';
import { isReconciled, type MatchCounts, matchDocument } from '../../report/statement/match-report.ts';
import { Choice, Field, Hint, LongField, useField, Wrong } from '../parts/fields.tsx';
import { shownCount, shownDecimal } from '../parts/figures.ts';
import { Form } from '../parts/form.tsx';
import { useRefusal } from '../parts/refused-context.ts';
import { Table } from '../parts/table.tsx';

interface FormProps {
  readonly run: string;
  readonly fileBytesMax: number;
}

/** Where a statement of the bank is handed over. */
export function ReconcilePage(props: FormProps) {
  return (
    <>
      <p>
        Each payment of the runs should stand on a statement of the account that paid them, and nothing else. What is
        missing, different or too much is listed. Of the statement itself nothing is kept but its SHA-256.
      </p>
      <StatementForm {...props} />
    </>
  );
}

function StatementForm({ run, fileBytesMax }: FormProps) {
  const refused = useRefusal({ action: RECONCILE });
  return (
    <Form action={RECONCILE} encType="multipart/form-data" class="upload">
      <Field label="Runs" name="runs" value={run} hint="Their ids, with blanks between them." required />
      <FileField fileBytesMax={fileBytesMax} />
      <details open={refused !== null}>
        <summary>A CSV statement with other columns</summary>
        <LongField
          label="Template"
          name="template"
          rows={6}
          hint='JSON, such as {"delimiter": ";", "decimalMark": ",", "columns": {"amount": "Betrag"}}. Left empty: columns reference, paymentId, amount, currency, direction and date.'
        />
      </details>
      <Choice label="Show" name="format" options={FORMATS} />
      <p>
        <button type="submit" class="btn btn-primary">
          Reconcile
        </button>
      </p>
    </Form>
  );
}

const RECONCILE = '/reconcile';

const FORMATS = [
  ['page', 'what does not match, here'],
  ['csv', 'every line, as CSV'],
] as const;

function FileField({ fileBytesMax }: { fileBytesMax: number }) {
  const refused = useRefusal({ action: RECONCILE });
  const hint = `camt.053 or camt.054 (.xml), or CSV, up to ${shownCount(fileBytesMax)} bytes.`;
  const { problem, control } = useField({ name: 'file', hint });
  const note = problem ?? (refused === null ? undefined : 'Choose the file again: nothing of it was kept.');
  return (
    <p class="field d-flex flex-column">
      <label class="form-label" htmlFor={control.id}>
        Statement
      </label>
      <Wrong id={control.id} words={note} />
      <input type="file" class="form-control" required {...control} />
      <Hint id={control.id} words={hint} />
    </p>
  );
}

interface ReconciledProps {
  readonly statement: Statement;
  readonly runs: readonly string[];
  readonly counts: MatchCounts;
  /** The first of those that are not matched. */
  readonly open: readonly Match[];
}

/** How far the payments of some runs stand on a statement, and what does not match. */
export function ReconciledPage({ statement, runs, counts, open }: ReconciledProps) {
  const { missing, different, extra } = counts;
  const unseen = missing + different + extra - open.length;
  return (
    <>
      <p>
        <b>
          {isReconciled(counts)
            ? 'Each payment is on the statement, and nothing else is.'
            : `${shownCount(missing)} missing, ${shownCount(different)} different, ${shownCount(extra)} extra on the statement.`}
        </b>
      </p>
      <dl class="card card-body facts">
        <dt>Runs</dt>
        <dd>
          {runs.map((run) => (
            <a key={run} href={`/runs/${run}`}>
              {run}{' '}
            </a>
          ))}
        </dd>
        <dt>Statement</dt>
        <dd>
          {escapeUnseen(statement.name)}, {shownCount(statement.movements.length)} movements
        </dd>
        <dt>SHA-256</dt>
        <dd>
          <code>{statement.sha256}</code>
        </dd>
      </dl>
      {open.length === 0 ? null : <OpenLines open={open} />}
      {unseen <= 0 ? null : <p>and {shownCount(unseen)} more: the CSV has all of them</p>}
      <p>
        <a href={`/reconcile?run=${runs[0] ?? ''}`}>Another statement</a>
      </p>
    </>
  );
}

function OpenLines({ open }: Pick<ReconciledProps, 'open'>) {
  return (
    <Table
      caption="What does not match"
      columns={[
        'Status',
        'Row',
        'Reference',
        { number: 'Amount' },
        'On the statement',
        { number: 'Its amount' },
        'Why',
      ]}
    >
      {open.map((match) => (
        <OpenLine key={`${match.payout?.runId} ${match.payout?.line} ${match.movement?.line}`} match={match} />
      ))}
    </Table>
  );
}

function OpenLine({ match }: { match: Match }) {
  const line = matchDocument(match);
  return (
    <tr>
      <td>{line.status}</td>
      <td>
        {line.runId === null ? null : (
          <a href={`/runs/${line.runId}/payouts/${line.line}`}>
            {line.runId} line {line.line}
          </a>
        )}
      </td>
      <td>{escapeUnseen(line.reference ?? line.statementReference ?? '')}</td>
      <td class="number">{moneyWords(line.amount, line.currency)}</td>
      <td>{line.statementLine === null ? '' : `${line.direction} ${line.statementLine}, ${line.statementDate}`}</td>
      <td class="number">{moneyWords(line.statementAmount, line.statementCurrency)}</td>
      <td>{line.why}</td>
    </tr>
  );
}

function moneyWords(amount: string | null, currency: string | null): string {
  return amount === null ? '' : `${shownDecimal(amount)} ${currency ?? ''}`;
}
