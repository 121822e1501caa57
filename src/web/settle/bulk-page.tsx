import { isSamePerson } from '../../access/same-person.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Money } from '../../money.ts';
import type { Decision, Payout, Run } from '../../payout.ts';
import type { BulkDecided } from '../../runs/decide/in-bulk.ts';
import { Field, useField, Wrong } from '../parts/fields.tsx';
import { Form } from '../parts/form.tsx';
import { Identity } from '../parts/identity.tsx';
import { Amount } from '../parts/money.tsx';
import { PROPOSED_WORDS, reasonWords } from '../parts/outcome-words.ts';
import { Line, Table } from '../parts/table.tsx';
import { hrefOfRow } from '../payouts/find-row.ts';
import type { Person } from '../web.ts';
import { hrefOfGroup, type SettleGroup } from './groups.ts';
import { hrefOfList } from './wanted.ts';

/** Payouts by reason and run, the largest group first. */
export function GroupTable({ groups }: { groups: readonly SettleGroup[] }) {
  if (groups.length === 0) return null;
  return (
    <Table
      caption="By reason and run"
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

/** Held ones are settled together; what is not known yet is looked at. */
function GroupLink({ group: { runId, state, reason, reasonCode } }: { group: SettleGroup }) {
  const which = `${reasonWords(reason) ?? reason}, of ${runId}`;
  if (reasonCode !== null) {
    return (
      <a href={hrefOfGroup({ runId, reasonCode })} aria-label={`Settle together: ${which}`}>
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
  readonly run: Pick<Run, 'id' | 'fileName'>;
  readonly reasonCode: string;
  readonly payouts: readonly Payout[];
  readonly who: Person | null;
}

const WORDS: readonly (readonly [Exclude<Decision, 'paid'>, string])[] = [
  ['allow', 'Allow them: each is paid when its turn comes'],
  ['drop', 'Drop them: they are given up and not paid'],
  ['not-paid', 'They were not paid'],
];

const BULK_WORDS: Readonly<Record<Decision, string>> = {
  allow: 'to allow',
  drop: 'to drop',
  paid: 'to settle as paid',
  'not-paid': 'to settle as not paid',
};

/** The payouts of a run that have one reason, ticked, and one form for all of them. */
export function BulkPage({ run, reasonCode, payouts, who }: BulkProps) {
  const waiting = payouts.filter(
    ({ proposal }) => proposal !== null && who !== null && !isSamePerson(proposal.by, who.name),
  );
  const proposal = waiting[0]?.proposal ?? null;
  return (
    <>
      <p>
        <a href={`/runs/${run.id}`}>{escapeUnseen(run.fileName)}</a>: {payouts.length}{' '}
        {payouts.length === 1 ? 'payout waits' : 'payouts wait'} for people:{' '}
        {reasonWords(reasonCode) ?? 'the service says'} <span class="small">{reasonCode}</span>. One person proposes,
        another one confirms. Each payout is checked by itself; one that has changed meanwhile is left out.
      </p>
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
        <Form action={hrefOfGroup({ runId: run.id, reasonCode })}>
          <BulkTable payouts={payouts} />
          {who?.may('settle') === true ? <BulkFields proposed={proposal?.decision} /> : null}
        </Form>
      )}
    </>
  );
}

function BulkTable({ payouts }: Pick<BulkProps, 'payouts'>) {
  return (
    <Table
      caption="Payouts"
      columns={['Take', 'Reference', { number: 'Amount' }, 'Beneficiary', 'Why it is held', 'Proposed']}
    >
      {payouts.map(({ runId, line, row, reason, proposal, beneficiaryName }) => (
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
          <td>{escapeUnseen(reason ?? '')}</td>
          <td>{proposal === null ? '' : `${PROPOSED_WORDS[proposal.decision]}, by ${escapeUnseen(proposal.by)}`}</td>
        </tr>
      ))}
    </Table>
  );
}

/** Ticked, unless the form was refused without it. */
function Take({ line, reference }: { line: number; reference: string }) {
  const { typed, control } = useField({ name: `line-${line}` });
  return (
    <input
      type="checkbox"
      class="form-check-input"
      value="on"
      checked={typed !== ''}
      aria-label={`Take ${reference}`}
      {...control}
    />
  );
}

function BulkFields({ proposed }: { proposed: Decision | undefined }) {
  const { typed = proposed, problem, control } = useField({ name: 'decision' });
  return (
    <>
      <fieldset class="form-fieldset">
        <legend class="form-label">What becomes of those that are ticked?</legend>
        <Wrong id={control.id} words={problem} />
        {WORDS.map(([decision, words]) => (
          <p key={decision}>
            <label>
              <input type="radio" name="decision" value={decision} required checked={decision === typed} /> {words}
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

/** What came of it, with each payout that was left out. */
export function BulkDecidedPage({ decided, href }: { decided: BulkDecided; href: string }) {
  const { proposed, done, leftOut } = decided;
  return (
    <>
      {done === 0 ? null : <p class="decided-result">{done} confirmed by two people, and done.</p>}
      {proposed === 0 ? null : (
        <p class="decided-result">{proposed} proposed. They are done once another person has confirmed them.</p>
      )}
      {leftOut.length === 0 ? null : (
        <Table caption={`Left out: ${leftOut.length}`} columns={['Reference', 'Why']}>
          {leftOut.map(({ line, reference, why }) => (
            <tr key={line}>
              <th scope="row">{escapeUnseen(reference)}</th>
              <td>{escapeUnseen(why)}</td>
            </tr>
          ))}
        </Table>
      )}
      <p>
        <a href={href}>What is left of them</a> · <a href="/to-settle">What else is to settle</a>
      </p>
    </>
  );
}
