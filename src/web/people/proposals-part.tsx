import { isSamePerson } from '../../access/same-person.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Proposal } from '../../ledger/people/people.ts';
import { Form } from '../parts/form.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { sameAct } from './proposed.ts';

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
