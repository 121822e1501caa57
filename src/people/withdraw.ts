import { isSamePerson } from '../access/same-person.ts';
import { noProposal } from '../ledger/people/people.ts';
import { Refusal } from '../refusal.ts';
import { type By, type ChangeDeps, changePeople, type Decision } from './change.ts';

/** A proposal as somebody saw it. */
interface SeenProposal {
  /** `user NAME` or `key NAME`. */
  readonly target: string;
  readonly what: string;
}

/**
 * Takes back what was proposed for a user or a key, and nothing else; one person is enough, as for everything that stops.
 * Throws a Refusal when it does not stand any more: it was confirmed, or something else was proposed since.
 */
export async function withdrawProposal(deps: ChangeDeps, { target, what, ...by }: SeenProposal & By): Promise<void> {
  await changePeople(deps, by, ({ proposals }): Decision<void> => {
    const found = proposals.find((one) => isSamePerson(one.target, target) && one.what === what);
    if (found === undefined) throw refuse(target);
    const [kind = ''] = found.target.split(' ', 1);
    const details = { what, proposedBy: found.by };
    const change = { action: `${kind}.proposal-withdrawn`, target: found.target, details };
    return { answer: undefined, change: { ...change, fields: noProposal(found.target) } };
  });
}

function refuse(target: string): Refusal {
  return new Refusal(
    `This is not proposed for ${target} any more.`,
    'Somebody has decided it, or proposed something else: look at the list again.',
  );
}
