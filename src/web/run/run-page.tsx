import { stagesText, stageText } from '../../config/stages.ts';
import type { RunEvent } from '../../ledger/runs/runs.ts';
import type { Run } from '../../payout.ts';
import { May } from '../may.tsx';
import { shownCount } from '../parts/figures.ts';
import { Time } from '../parts/time.tsx';
import type { Person } from '../web.ts';
import { ProgressPart, type ProgressProps } from './progress-part.tsx';
import { RunActions } from './run-actions.tsx';
import { reconciledWords } from './run-status.ts';
import { CopyTable, HistoryTable } from './run-tables.tsx';

interface RunProps {
  readonly progress: ProgressProps;
  /** The oldest first. */
  readonly events: readonly RunEvent[];
  /** Versions of its report whose signature lies in the report folder of this host. */
  readonly signed: ReadonlySet<number>;
}

/** Around the title of a run: its place, how it is seen anew, and what the person may do with it. */
export function runHead({ run, sums }: ProgressProps, who: Person | null) {
  return {
    above: (
      <>
        <a href="/runs">Runs</a> / {run.id}
      </>
    ),
    below: (
      <p class="live small">
        <a href={`/runs/${run.id}`}>Reload</a> <span data-live-note aria-live="polite" />
      </p>
    ),
    actions: (
      <section id="run-actions" class="actions" data-refreshed aria-label="Actions">
        {who === null ? null : <RunActions run={run} who={who} retryRows={sums?.retryRows ?? null} />}
      </section>
    ),
  };
}

/** A run: how far it is, its money, its reports, what it is and what happened to it. */
export function RunPage({ progress, events, signed }: RunProps) {
  const { run } = progress;
  return (
    <>
      <section data-live={`/runs/${run.id}/live`} aria-label="Progress">
        <ProgressPart {...progress} />
      </section>
      <p>
        <a href={`/runs/${run.id}/payouts`}>All payouts of this run</a>
      </p>
      <h2>Reports</h2>
      <section id="run-reports" data-refreshed aria-label="Reports">
        <Reports run={run} signed={signed} />
      </section>
      <details>
        <summary>The file, who handed it in, and its hash</summary>
        <RunFacts run={run} />
      </details>
      <h2>History</h2>
      <section id="run-history" data-refreshed aria-label="History">
        <HistoryTable runId={run.id} events={events} />
      </section>
    </>
  );
}

function RunFacts({ run }: { run: Run }) {
  return (
    <dl class="card card-body facts">
      <dt>Name</dt>
      <dd>{run.fileName}</dd>
      <dt>SHA-256</dt>
      <dd>
        <code>{run.fileSha256}</code>
      </dd>
      <dt>Rows</dt>
      <dd>{shownCount(run.rows)}</dd>
      <dt>Submitted</dt>
      <dd>
        <Time at={run.createdAt} /> by {run.createdBy}
      </dd>
      {run.stages === null ? null : (
        <>
          <dt>Stages</dt>
          <dd>
            {stageText(run.stages)}: {stagesText(run.stages)}
          </dd>
        </>
      )}
      {run.approvals.length === 0 ? null : (
        <>
          <dt>Approved by</dt>
          <dd>{run.approvals.map(({ by }) => by).join(', ')}</dd>
        </>
      )}
      {run.purgedAt === null ? null : (
        <>
          <dt>Rows removed</dt>
          <dd>
            <Time at={run.purgedAt} />, as they are kept for a time only
          </dd>
        </>
      )}
    </dl>
  );
}

function Reports({ run, signed }: { run: Run; signed: ReadonlySet<number> }) {
  if (run.state === 'recording') return <p class="empty">There is a report once the file has been recorded.</p>;
  return (
    <>
      {run.purgedAt === null ? (
        <p>
          As it stands now: <a href={`/runs/${run.id}/report?format=csv`}>report as CSV</a>,{' '}
          <a href={`/runs/${run.id}/report?format=xlsx`}>as a workbook</a>,{' '}
          <a href={`/runs/${run.id}/report?format=json`}>as JSON</a>,{' '}
          <a href={`/runs/${run.id}/report?format=summary`}>summary</a>,{' '}
          <a href={`/runs/${run.id}/printed`}>to print</a>. <a href={`/runs/${run.id}/retry-file`}>Retry file</a> (
          <a href={`/runs/${run.id}/retry-file?format=xlsx`}>as a workbook</a>) with the rows that may be sent again.
        </p>
      ) : null}
      <p>
        <BankPart run={run} />
      </p>
      <CopyTable run={run} signed={signed} />
    </>
  );
}

function BankPart({ run: { id, reconciled } }: { run: Run }) {
  const link = (
    <May act="submit">
      <a href={`/reconcile?run=${id}`}>Reconcile with a statement of the bank</a>
    </May>
  );
  if (reconciled === null) return <>Not reconciled yet. {link}</>;
  const { at, sha256, missing, different, extra } = reconciled;
  return (
    <>
      The bank: {reconciledWords(reconciled)} payments, {shownCount(missing)} missing, {shownCount(different)}{' '}
      different, {shownCount(extra)} extra, on <Time at={at} />, with the statement of SHA-256 <code>{sha256}</code>.{' '}
      {link}
    </>
  );
}
