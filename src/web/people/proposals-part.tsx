import { escapeUnseen } from '../../intake/shown-value.ts';
import type { Proposal } from '../../ledger/people.ts';
import { isSamePerson } from '../../people/same-person.ts';
import { Form } from '../parts/form.tsx';
import { Time } from '../parts/time.tsx';
import { sameAct } from './proposed.ts';

interface ProposalsProps {
  readonly proposals: readonly Proposal[];
  /** Who looks. */
  readonly viewer: string;
  /** Where what was proposed to be made is withdrawn; null for what cannot be. */
  readonly withdrawAt: (proposal: Proposal) => string | null;
}

/** What one admin proposed, and another one has to confirm. */
export function Proposals({ proposals, viewer, withdrawAt }: ProposalsProps) {
  if (proposals.length === 0) return null;
  return (
    <section class="proposals">
      <h2>Waiting for another admin</h2>
      <div class="scroll">
        <table>
          <caption>Proposals; each lapses after a week</caption>
          <thead>
            <tr>
              <th scope="col">For</th>
              <th scope="col">What</th>
              <th scope="col">Proposed by</th>
              <th scope="col">At</th>
              <th scope="col">Decide</th>
            </tr>
          </thead>
          <tbody>
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
                    <Withdraw proposal={one} action={withdrawAt(one)} />
                  </div>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Confirm({ proposal, viewer }: { proposal: Proposal; viewer: string }) {
  const act = sameAct(proposal);
  if (isSamePerson(proposal.by, viewer)) return <span>It waits for another person.</span>;
  if (act === undefined) return <span>To be confirmed on the command line.</span>;
  return (
    <Form action={act.action}>
      {Object.entries(act.fields).map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <button type="submit" class="main" aria-label={`Confirm for ${proposal.target}: ${proposal.what}`}>
        Confirm
      </button>
    </Form>
  );
}

function Withdraw({ proposal, action }: { proposal: Proposal; action: string | null }) {
  if (action === null) return null;
  return (
    <Form action={action}>
      <input type="hidden" name="name" value={proposal.target.replace(/^(?:user|key) /, '')} />
      <button type="submit" aria-label={`Withdraw for ${proposal.target}: ${proposal.what}`}>
        Withdraw
      </button>
    </Form>
  );
}
