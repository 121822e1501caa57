import { isSamePerson } from '../../access/same-person.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Money } from '../../money.ts';
import { DECISIONS, type Decision, type Payout, type Run } from '../../payout.ts';
import { whyNotDecided } from '../../runs/decide/decision.ts';
import { type BulkDecided, type BulkScope, PAYOUTS_PER_CALL_MAX } from '../../runs/decide/in-bulk.ts';
import { reasonWords } from '../../runs/decide/reason-words.ts';
import { settleReason } from '../../runs/decide/to-settle.ts';
import { Field, Tick, useField, Wrong } from '../parts/fields.tsx';
import { shownAmountsIn, shownCount } from '../parts/figures.ts';
import { Form } from '../parts/form.tsx';
import { Identity } from '../parts/identity.tsx';
import { Amount } from '../parts/money.tsx';
import { PROPOSED_WORDS } from '../parts/outcome-words.ts';
import { Line, Table } from '../parts/table.tsx';
import { hrefOfRow } from '../payouts/find-row.ts';
import type { Person } from '../web.ts';
import { hrefOfGroup, type SettleGroup, type SettleGroups, UNKNOWN } from './groups.ts';
import { hrefOfList } from './wanted.ts';

/** Payouts by reason and run, the largest group first. */
export function GroupTable({ groups, outOf }: SettleGroups) {
  if (groups.length === 0) return null;
  return (
    <Table
      caption={
        outOf === null
          ? 'By reason and run'
          : `By reason and run, of the first ${shownCount(outOf)} payouts: more of them wait`
      }
      columns={['Reason', 'Run', { number: 'Payouts' }, { number: 'Money' }, 'Settle']}
      class="stacked"
    >
      {groups.map((group) => (
        <Line key={`${group.runId} ${group.state} ${group.reason}`}>
          <th scope="row">
            <ReasonOf group={group} />
          </th>
          <td>
            <a href={`/runs/${group.runId}`}>{group.runId}</a>
          </td>
          <td class="number">{group.payouts}</td>
          <td class="number">
            <Sums sums={group.sums} />
          </td>
          <td>
            <GroupLink group={group} />
          </td>
        </Line>
      ))}
    </Table>
  );
}

function ReasonOf({ group: { state, reason } }: { group: SettleGroup }) {
  const words = reasonWords(reason);
  return (
    <>
      {state === 'held' ? 'Held: ' : 'Not known yet: '}
      {words ?? escapeUnseen(reason)} {words === undefined ? null : <span class="small">{reason}</span>}
    </>
  );
}

function GroupLink({ group }: { group: SettleGroup }) {
  const { runId, state, reason } = group;
  const which = `${reasonWords(reason) ?? reason}, of ${runId}`;
  const href = hrefOfGroup(group);
  if (href !== null) {
    return (
      <a href={href} aria-label={`Settle together: ${which}`}>
        Settle together
      </a>
    );
  }
  return (
    <a href={hrefOfList({ run: runId, state, reason })} aria-label={`Show them: ${which}`}>
      Show them
    </a>
  );
}

function Sums({ sums }: { sums: readonly Money[] }) {
  return (
    <>
      {sums.map((money) => (
        <div key={money.currency}>
          <Amount money={money} />
        </div>
      ))}
    </>
  );
}

interface BulkProps {
  readonly run: Pick<Run, 'id' | 'fileName' | 'counts'>;
  /** A reason's code, or `unknown`. */
  readonly code: string;
  readonly scope: BulkScope;
  readonly payouts: readonly Payout[];
  /** Whether more of them wait than the page shows. */
  readonly more: boolean;
  readonly who: Person | null;
}

const WORDS: Readonly<Record<Decision, string>> = {
  allow: 'Allow them: each is paid when its turn comes',
  drop: 'Drop them: they are given up and not paid',
  paid: 'They were paid: each by the payment of its own quote, for which the service is asked',
  'not-paid': 'They were not paid',
};

const BULK_WORDS: Readonly<Record<Decision, string>> = {
  allow: 'to allow',
  drop: 'to drop',
  paid: 'to settle as paid',
  'not-paid': 'to settle as not paid',
};

/** The payouts of a run that have one reason, ticked, and one form for all of them. */
export function BulkPage(props: BulkProps) {
  const { run, code, payouts, who } = props;
  const waiting = payouts.filter(
    ({ proposal }) => proposal !== null && who !== null && !isSamePerson(proposal.by, who.name),
  );
  const proposal = waiting[0]?.proposal ?? null;
  return (
    <>
      <BulkIntro {...props} />
      {proposal === null ? null : (
        <p class="proposal">
          {escapeUnseen(proposal.by)} proposed {BULK_WORDS[proposal.decision]} {waiting.length} of them:{' '}
          {escapeUnseen(proposal.reason)}
        </p>
      )}
      {payouts.length === 0 ? (
        <p class="empty">
          None is left. <a href="/to-settle">To settle</a>
        </p>
      ) : (
        <Form action={`/runs/${run.id}/settle/${code}`}>
          <BulkTable payouts={payouts} />
          {who?.may('settle') === true ? <BulkFields {...props} proposed={proposal?.decision} /> : null}
        </Form>
      )}
    </>
  );
}

function BulkIntro({ run, code, payouts, more }: BulkProps) {
  const isUnknown = code === UNKNOWN;
  const many = isUnknown ? 'payouts are not known yet' : 'payouts wait for people';
  const one = isUnknown ? 'payout is not known yet' : 'payout waits for people';
  return (
    <p>
      <a href={`/runs/${run.id}`}>{escapeUnseen(run.fileName)}</a>:{' '}
      {more ? `more than ${shownCount(payouts.length)}` : payouts.length} {payouts.length === 1 ? one : many}:{' '}
      {isUnknown ? 'a payment request may have been sent' : (reasonWords(code) ?? 'the service says')}{' '}
      {isUnknown ? null : <span class="small">{code}</span>}. One person proposes, another one confirms. Each payout is
      checked by itself; one that has changed meanwhile is left out and named.
      {more ? (
        <b>
          {' '}
          The first {shownCount(payouts.length)} stand here; {shownCount(run.counts[isUnknown ? 'unknown' : 'held'])} of
          this file are {isUnknown ? 'not known' : 'held, for this reason or another'}.
        </b>
      ) : null}
    </p>
  );
}

function BulkTable({ payouts }: Pick<BulkProps, 'payouts'>) {
  return (
    <Table
      caption="Payouts"
      columns={['Take', 'Reference', { number: 'Amount' }, 'Beneficiary', 'Why it waits', 'Proposed']}
    >
      {payouts.map((payout) => {
        const { runId, line, row, reason, proposal, beneficiaryName } = payout;
        return (
          <tr key={line}>
            <td>
              <Take line={line} reference={row.reference} />
            </td>
            <th scope="row">
              <a href={hrefOfRow({ run: runId, line })}>{escapeUnseen(row.reference)}</a>
            </th>
            <td class="number">
              <Amount money={row.amount} />
            </td>
            <td>
              <Identity id={row.beneficiaryIdentityId} name={beneficiaryName} />
            </td>
            <td>{escapeUnseen(shownAmountsIn(reason ?? reasonWords(settleReason(payout)) ?? settleReason(payout)))}</td>
            <td>{proposal === null ? '' : `${PROPOSED_WORDS[proposal.decision]}, by ${escapeUnseen(proposal.by)}`}</td>
          </tr>
        );
      })}
    </Table>
  );
}

/** Ticked, unless the form was refused without it. */
function Take({ line, reference }: { line: number; reference: string }) {
  const { typed, control } = useField({ name: `line-${line}` });
  return <input type="checkbox" value="on" checked={typed !== ''} aria-label={`Take ${reference}`} {...control} />;
}

function BulkFields({ payouts, more, scope, proposed }: BulkProps & { proposed: Decision | undefined }) {
  const { typed = proposed, problem, control } = useField({ name: 'decision' });
  const possible = DECISIONS.filter((decision) => payouts.some((one) => whyNotDecided(one, decision) === undefined));
  return (
    <>
      {more ? <Tick name="all" label="Take all of them, also those that do not stand here" /> : null}
      <input type="hidden" name="which" value={scope.state === UNKNOWN ? (scope.reason ?? '') : ''} />
      <fieldset class="form-fieldset">
        <legend class="form-label">What becomes of those that are ticked?</legend>
        <Wrong id={control.id} words={problem} />
        {possible.map((decision) => (
          <p key={decision}>
            <label>
              <input type="radio" name="decision" value={decision} required checked={decision === typed} />{' '}
              {WORDS[decision]}
            </label>
          </p>
        ))}
      </fieldset>
      <Field label="Reason" name="reason" required maxLength={200} hint="For the history and the audit log." />
      <button type="submit" class="btn btn-primary">
        {proposed === undefined ? 'Propose' : 'Confirm'}
      </button>
    </>
  );
}

interface BulkDecidedProps {
  readonly decided: BulkDecided;
  readonly runId: string;
  readonly code: string;
}

/** What came of it, with each payout that was left out. */
export function BulkDecidedPage({ decided: { proposed, done, leftOut, more }, runId, code }: BulkDecidedProps) {
  return (
    <>
      {done === 0 ? null : <p class="decided-result">{done} confirmed by two people, and done.</p>}
      {proposed === 0 ? null : (
        <p class="decided-result">{proposed} proposed. They are done once another person has confirmed them.</p>
      )}
      {more ? (
        <p class="problem">
          There are more of them: {shownCount(PAYOUTS_PER_CALL_MAX)} were taken. Do the same again for those that are
          left.
        </p>
      ) : null}
      {leftOut.length === 0 ? null : (
        <Table caption={`Left out: ${leftOut.length}`} columns={['Reference', 'Why']}>
          {leftOut.map(({ line, reference, why }) => (
            <tr key={line}>
              <th scope="row">
                {reference === '' ? (
                  `line ${line}`
                ) : (
                  <a href={hrefOfRow({ run: runId, line })}>{escapeUnseen(reference)}</a>
                )}
              </th>
              <td>{escapeUnseen(why)}</td>
            </tr>
          ))}
        </Table>
      )}
      <p>
        <a href={`/runs/${runId}/settle/${code}`}>What is left of them</a> ·{' '}
        <a href="/to-settle">What else is to settle</a>
      </p>
    </>
  );
}
