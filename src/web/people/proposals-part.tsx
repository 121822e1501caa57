import { KEY_ROLES, ROLES } from '../../access/roles.ts';
import { isSamePerson } from '../../access/same-person.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Proposal } from '../../ledger/people/people.ts';
import { REMOVE_FACTOR } from '../../people/second-factor.ts';
import { Form } from '../parts/form.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';

interface ProposalsProps {
  readonly proposals: readonly Proposal[];
  /** Who looks. */
  readonly viewer: string;
}

/** What one admin proposed, and another one has to confirm. */
export function Proposals({ proposals, viewer }: ProposalsProps) {
  if (proposals.length === 0) return null;
  return (
    <section class="proposals">
      <h2>Waiting for another admin</h2>
      <Table caption="Proposals; each lapses after a week" columns={['For', 'What', 'Proposed by', 'At', 'Decide']}>
        {proposals.map((one) => (
          <tr key={one.target}>
            <th scope="row">{escapeUnseen(one.target)}</th>
            <td>{escapeUnseen(one.what)}</td>
            <td>{escapeUnseen(one.by)}</td>
            <td>
              <Time at={one.at} />
            </td>
            <td>
              <div class="people-acts">
                <Confirm proposal={one} viewer={viewer} />
                <Withdraw proposal={one} />
              </div>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

function Confirm({ proposal, viewer }: { proposal: Proposal; viewer: string }) {
  const act = sameAct(proposal);
  if (isSamePerson(proposal.by, viewer)) return <span>It waits for another person.</span>;
  if (act === undefined) return <span>To be confirmed on the command line.</span>;
  return (
    <Form action={act.action} name={`confirm ${proposal.target}`}>
      {Object.entries(act.fields).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <button type="submit" class="btn btn-primary" aria-label={`Confirm for ${proposal.target}: ${proposal.what}`}>
        Confirm
      </button>
    </Form>
  );
}

function Withdraw({ proposal: { target, what } }: { proposal: Proposal }) {
  return (
    <Form action="/proposals/withdraw" name={`withdraw ${target}`}>
      <input type="hidden" name="target" value={target} />
      <input type="hidden" name="what" value={what} />
      <button type="submit" class="btn" aria-label={`Withdraw for ${target}: ${what}`}>
        Withdraw
      </button>
    </Form>
  );
}

/** A form of ours: where it goes, and what it says. */
interface SameAct {
  readonly action: string;
  readonly fields: Readonly<Record<string, string>>;
}

/**
 * The form by which another admin does what one has proposed; undefined for what only the command line can say. Who
 * confirms names the act again: if the proposal has changed since, theirs is a new one.
 */
function sameAct({ target, what }: Proposal): SameAct | undefined {
  const [, kind, name = ''] = /^(user|key) (.+)$/.exec(target) ?? [];
  if (kind === 'user') return sameUserAct(name, what);
  const [, word, days] = /^make it as ([a-z]+)(?: for ([0-9]+) days)?$/.exec(what) ?? [];
  const role = KEY_ROLES.find((one) => one === word);
  if (kind !== 'key' || role === undefined) return undefined;
  return { action: '/keys', fields: { name, role, ...(days === undefined ? {} : { days }) } };
}

function sameUserAct(name: string, what: string): SameAct | undefined {
  if (what === 'enable' || what === 'reset') return { action: `/users/${what}`, fields: { name } };
  if (what === REMOVE_FACTOR) return { action: '/users/factor', fields: { name } };
  const [, verb, word] = /^(add as|give the role) ([a-z]+)$/.exec(what) ?? [];
  const role = ROLES.find((one) => one === word);
  if (role === undefined) return undefined;
  return { action: verb === 'add as' ? '/users' : '/users/role', fields: { name, role } };
}
