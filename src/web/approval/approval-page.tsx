import { LIMITS } from '../../config/limits.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Run } from '../../payout.ts';
import { type ApprovalStanding, hasApproved, isCutShort } from '../../runs/decide/approve.ts';
import { handedInAs } from '../../runs/hand-in/handed-in.ts';
import { scheduleChangeWords } from '../../runs/schedule-changes.ts';
import { counted, shownAmount, shownCount } from '../parts/figures.ts';
import { Form } from '../parts/form.tsx';
import { Icon } from '../parts/icon.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { ApprovalCards, BeneficiaryLines, LargestPayouts } from './approval-cards.tsx';
import { Checks } from './approval-checks.tsx';
import type { ApprovalProps } from './approval-facts.ts';

/** What somebody approves, from the ledger alone: file, rows, money, limits, and who gets it (docs/security.md). */
export function ApprovalPage(props: ApprovalProps) {
  const { run, standing, person, limits } = props;
  return (
    <section id="approval" aria-label="Approval">
      <ApprovalCards {...props} />
      <div class="today">
        <LargestPayouts {...props} />
        <Checks {...props} />
      </div>
      <Changes changes={props.changes} />
      <details>
        <summary>What exactly is approved: totals, limits, all who get most, and the hash of the file</summary>
        <TotalsOfFile run={run} />
        <LimitsTable limits={limits} />
        <BeneficiaryTable {...props} />
        <Facts {...props} />
        <p>
          <a href={`/runs/${run.id}/approve/totals.csv`}>Totals as CSV</a> ·{' '}
          <a href={`/runs/${run.id}/approve/beneficiaries.csv`}>Who gets most as CSV</a> ·{' '}
          <a href="/settings.csv">Settings, with the limits, as CSV</a>
        </p>
      </details>
      <p>
        <a href={`/runs/${run.id}/payouts`}>Look at its payouts</a> · <a href={`/runs/${run.id}`}>Back to the run</a>
      </p>
      <GivenApprovals standing={standing} />
      <Decide run={run} standing={standing} person={person} mayCancel={props.mayCancel} />
    </section>
  );
}

/** In its place while the rows of a large run are being read and judged. */
export function BeingReadPage({ run }: Pick<ApprovalProps, 'run'>) {
  return (
    <section id="approval" aria-label="Approval" data-refreshed data-asking>
      <p class="empty" aria-live="polite">
        The {shownCount(run.rows)} rows are being read and checked; this takes some seconds.{' '}
        <a href={`/runs/${run.id}/approve`}>Look again</a>
      </p>
    </section>
  );
}

/** Around the title: where it is, who handed it in, and how many people it needs. */
export function approvalHead({ run, standing }: Pick<ApprovalProps, 'run' | 'standing'>) {
  return {
    title: `Approve ${escapeUnseen(run.fileName)}?`,
    above: (
      <>
        <a href="/runs">Runs</a> / <a href={`/runs/${run.id}`}>{run.id}</a>
      </>
    ),
    below: (
      <p class="hint">
        Handed in by {run.createdBy}, <Time at={run.createdAt} /> · {counted(run.rows, 'row')} · {standing.needed}{' '}
        {standing.needed === 1 ? 'person' : 'people'} needed
      </p>
    ),
  };
}

function Facts({ run, standing, approval, limits }: ApprovalProps) {
  const { refused, held } = run.counts;
  return (
    <dl class="card card-body facts">
      <dt>File</dt>
      <dd>{run.fileName}</dd>
      <dt>SHA-256 of the file</dt>
      <dd>
        <code>{run.fileSha256}</code>
      </dd>
      <dt>Submitted</dt>
      <dd>
        <Time at={run.createdAt} /> by {run.createdBy}
      </dd>
      {run.dropper === null ? null : (
        <>
          <dt>Put into the inbox</dt>
          <dd>
            {run.dropper === '' ? 'by nobody who is named: one person more has to approve it' : `by ${run.dropper}`}
          </dd>
        </>
      )}
      <dt>Rows in the file</dt>
      <dd>{shownCount(run.rows)}</dd>
      <dt>Refused rows</dt>
      <dd>{refused === 0 ? 'none' : `${shownCount(refused)}, which are not paid`}</dd>
      <dt>Held payouts</dt>
      <dd>{held === 0 ? 'none' : `${shownCount(held)}, which wait for people`}</dd>
      <dt>Rules of approval</dt>
      <dd>
        {standing.needed} {standing.needed === 1 ? 'person' : 'people'} needed; rules <code>{approval?.name}</code>
      </dd>
      <dt>Limits</dt>
      <dd>{limits === null ? 'none are set' : <code>{limits.name}</code>}</dd>
      <dt>What is approved</dt>
      <dd>
        <code>{standing.digest}</code>
      </dd>
    </dl>
  );
}

function Changes({ changes }: Pick<ApprovalProps, 'changes'>) {
  if (changes.length === 0) return null;
  return (
    <>
      <h2>Its way here is new</h2>
      <p>What was changed of schedules and of inboxes since a day before the file came by its inbox:</p>
      <ul>
        {changes.map((change) => (
          <li key={`${change.at} ${change.name}`}>
            <Time at={change.at} />: {scheduleChangeWords(change)}
          </li>
        ))}
      </ul>
    </>
  );
}

function TotalsOfFile({ run }: { run: Run }) {
  return (
    <Table
      caption="Money in the file, refused rows included"
      columns={['Currency', 'Total', 'Of it refused']}
      class="totals"
    >
      {run.fileTotals.map((total) => (
        <tr key={total.currency}>
          <th scope="row">{total.currency}</th>
          <td>{shownAmount(total)}</td>
          <td>{shownAmount({ minor: run.amounts.get(total.currency)?.refused ?? 0n, currency: total.currency })}</td>
        </tr>
      ))}
    </Table>
  );
}

function BeneficiaryTable(props: ApprovalProps) {
  const { run, beneficiaries } = props;
  const { top, others } = beneficiaries;
  return (
    <>
      <p>
        {run.newBeneficiaryRows === 0
          ? 'Each of them was paid from this ledger before.'
          : `This ledger has never paid the beneficiaries of ${counted(run.newBeneficiaryRows, 'row')}.`}{' '}
        This is no proof: whoever can write to Redis can change who was paid before.
      </p>
      <BeneficiaryLines caption="Who gets most, in each currency the largest first" lines={top} seen={props} />
      {others === 0 ? <p>These are all.</p> : <p>And {shownCount(others)} others, who get less.</p>}
    </>
  );
}

function LimitsTable({ limits }: Pick<ApprovalProps, 'limits'>) {
  if (limits === null) return <p>Nothing limits what may be paid.</p>;
  return (
    <Table
      caption={
        <>
          What lies beyond one of them is {limits.over === 'hold' ? 'held' : 'rejected'}; days begin in {limits.zone}
        </>
      }
      columns={['Currency', 'A payout', 'A run', 'A day', 'A beneficiary on one day']}
      class="totals"
    >
      {[...limits.currencies].map(([currency, most]) => (
        <tr key={currency}>
          <th scope="row">{currency}</th>
          {LIMITS.map((limit) => {
            const minor = most[limit];
            return <td key={limit}>{minor === undefined ? 'no limit' : shownAmount({ minor, currency })}</td>;
          })}
        </tr>
      ))}
    </Table>
  );
}

function GivenApprovals({ standing: { given, needed } }: { standing: ApprovalStanding }) {
  const holding = given.filter(({ holds }) => holds).length;
  return (
    <>
      <p>
        {holding} of {needed} hold.
      </p>
      {given.length === 0 ? null : (
        <ul>
          {given.map(({ by, at, holds, until }) => (
            <li key={`${by} ${at}`}>
              {by}, <Time at={at} />:{' '}
              {holds ? (
                <>
                  holds until <Time at={until} />
                </>
              ) : (
                'does not hold any more: it is too old, or was for something else'
              )}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Decide({
  run,
  standing,
  person,
  mayCancel,
}: Pick<ApprovalProps, 'run' | 'standing' | 'person' | 'mayCancel'>) {
  if (handedInAs(person, run) !== undefined) {
    return <p class="empty">You handed this file in, so another person has to approve it.</p>;
  }
  if (hasApproved(standing, person) && !isCutShort(run, standing)) {
    const left = standing.needed - standing.given.filter(({ holds }) => holds).length;
    return (
      <p class="empty">
        You have approved it. {left > 0 ? `${left} more ${left === 1 ? 'person' : 'people'} needed.` : ''}
      </p>
    );
  }
  return (
    <div class="decide">
      <p>You approve exactly this file, its {counted(run.rows, 'row')} and totals, under these limits.</p>
      {mayCancel ? (
        <a class="btn" href={`/runs/${run.id}/send-back`}>
          <Icon name="arrow-back-up" /> Send back<span class="visually-hidden"> with a reason</span>…
        </a>
      ) : null}
      <Form action={`/runs/${run.id}/approve`}>
        <input type="hidden" name="sha256" value={run.fileSha256} />
        <input type="hidden" name="digest" value={standing.digest} />
        <button type="submit" class="btn btn-primary">
          <Icon name="check" /> Approve<span class="visually-hidden"> run {run.id}</span>
        </button>
      </Form>
    </div>
  );
}
