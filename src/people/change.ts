import { isBehind, isSamePerson } from '../access/same-person.ts';
import type { Clock } from '../clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import {
  noProposal,
  type PeopleFields,
  type PeopleRecord,
  proposalField,
  type StoredProposal,
} from '../ledger/people/people.ts';
import { Refusal } from '../refusal.ts';

const TRIES_MAX = 20;
/** What nobody has confirmed by then was not wanted. */
const PROPOSAL_HOLDS_MS = 7 * 24 * 60 * 60_000;

export interface ChangeDeps {
  readonly ledger: Pick<Ledger, 'people'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Who does it, and from where if they came over a network. */
export interface By {
  readonly actor: string;
  readonly ip?: string;
}

/** What is to be written, and what the audit log says of it. */
interface Change {
  readonly action: string;
  /** `user NAME` or `key NAME`. */
  readonly target: string;
  readonly details?: Readonly<Record<string, string>>;
  readonly fields: PeopleFields;
}

/** An answer, and the change that makes it true; without one nothing is written. */
export interface Decision<Answer> {
  readonly answer: Answer;
  readonly change?: Change;
}

export interface Proposed {
  readonly kind: 'proposed';
}

/** What is proposed has a secret, which its proposer alone is shown, this once; it counts when another person has confirmed. */
export interface ProposedSecret extends Proposed {
  readonly secret: string;
}

/** Decides on what the ledger holds and writes it, with its audit entry; decides anew when somebody else was faster. */
export async function changePeople<Answer>(
  { ledger }: ChangeDeps,
  { actor, ip }: By,
  decide: (people: PeopleRecord) => Decision<Answer>,
): Promise<Answer> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const people = await ledger.people.read();
    const { answer, change } = decide(people);
    if (change === undefined) return answer;
    const { action, target, details = {}, fields } = change;
    const act = { actor, action, target, details: { ...details, ...(ip === undefined ? {} : { ip }) } };
    if ((await ledger.people.change({ version: people.version, act, fields })) === 'made') return answer;
  }
  throw new Error(`people were changed by others ${TRIES_MAX} times while a change was made`);
}

/** What one admin proposes and another one confirms. */
interface ByTwo<Answer, Asked> {
  readonly by: By;
  /** Redis keeps one proposal for each target: another one takes its place. */
  readonly target: string;
  /** What is to be done, in words; who confirms it means the same words. */
  readonly what: string;
  readonly now: number;
  /** What whoever proposes is told. */
  readonly proposed: Asked;
  /** Kept with the proposal. */
  readonly hashes?: Readonly<Record<string, string>>;
  /** `proposal` is what is confirmed; undefined for whoever decides alone. */
  readonly carryOut: (proposal: StoredProposal | undefined) => Decision<Answer> & { readonly change: Change };
}

/**
 * Proposes a change, or carries it out when another person has proposed the same within a week (docs/security.md). It needs
 * no second person while nobody else is, or was, an admin. Throws a Refusal when the proposal is their own.
 */
export function decideByTwo<Answer, Asked extends Proposed>(
  people: PeopleRecord,
  asked: ByTwo<Answer, Asked>,
): Decision<Answer | Asked> {
  const { by, target, what, now, proposed, hashes = {}, carryOut } = asked;
  const isAlone = people.users.every(({ role, name }) => role !== 'admin' || isSamePerson(name, by.actor));
  if (isAlone) return done(carryOut(undefined), target, {});
  const found = people.proposals.find(
    (one) => isSamePerson(one.target, target) && one.what === what && mayStillPropose(people, one.by),
  );
  if (found === undefined || found.at + PROPOSAL_HOLDS_MS <= now) {
    const { action, details } = carryOut(undefined).change;
    return {
      answer: proposed,
      change: {
        action: `${action}-proposed`,
        target,
        details: { ...details, what },
        fields: proposalField({ target, what, by: by.actor, at: now, hashes }),
      },
    };
  }
  if (isSamePerson(found.by, by.actor)) {
    throw new Refusal(
      `${found.by} has proposed this; another person has to confirm it.`,
      'Ask another admin to look and to do the same under their own name.',
    );
  }
  return done(carryOut(found), target, { proposedBy: found.by });
}

/** Whether a proposer is an admin still; names without a user are those of the command line. */
function mayStillPropose({ users }: PeopleRecord, by: string): boolean {
  return users.every(({ name, role, isDisabled }) => !isBehind(name, by) || (role === 'admin' && !isDisabled));
}

function done<Answer>(
  { answer, change }: Decision<Answer> & { readonly change: Change },
  target: string,
  details: Readonly<Record<string, string>>,
): Decision<Answer> {
  const fields = { ...change.fields, ...noProposal(target) };
  return { answer, change: { ...change, details: { ...change.details, ...details }, fields } };
}
