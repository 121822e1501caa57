import type { Ledger } from '../../ledger/ledger.ts';
import type { Decision, Payout } from '../../payout.ts';
import { may, type Role } from '../../people/roles.ts';
import { isSamePerson } from '../../people/same-person.ts';
import { type HandedIn, handedInAs } from '../hand-in/handed-in.ts';
import { readRun } from '../read-run.ts';

/** Why a payout is held that goes beyond what was set before its file came. */
const LIMITS: ReadonlySet<string | null> = new Set(['E_LIMIT', 'E_BLOCKED', 'E_COST_DRIFT']);

/** Somebody who wants a limit lifted for a payout. */
export interface Lifter {
  readonly name: string;
  /** Undefined for a name that no user has, or one who was disabled. */
  readonly role: Role | undefined;
}

/** What is known of a limit that people want to lift. */
export interface Lift {
  readonly reasonCode: string | null;
  readonly handedIn: HandedIn;
  readonly proposer: Lifter;
  /** Undefined while it is only proposed. */
  readonly confirmer?: Lifter | undefined;
  /** Without users names are all that is known of people. */
  readonly hasUsers: boolean;
}

/**
 * Why these people may not lift a limit, a block or a bound on the cost; undefined when they may, or when the payout is held
 * for something else. Neither of them handed the file in, and one of the two may approve runs.
 */
export function whyNotLifted({ reasonCode, handedIn, proposer, confirmer, hasUsers }: Lift): string | undefined {
  if (!LIMITS.has(reasonCode)) return undefined;
  const own = [proposer, confirmer].find((one) => one !== undefined && handedInAs(one.name, handedIn) !== undefined);
  if (own !== undefined) return `${own.name} handed the file in, and ${reasonCode} is lifted by two others`;
  if (confirmer === undefined || !hasUsers || isSamePerson(proposer.name, confirmer.name)) return undefined;
  return [proposer, confirmer].some(({ role }) => role !== undefined && may(role, 'approve'))
    ? undefined
    : `one of the two who lift ${reasonCode} has to be a checker or an admin`;
}

/** The same for what somebody asks to be decided of a payout. */
export async function whyNotAllowed(
  ledger: Pick<Ledger, 'runs' | 'people'>,
  payout: Payout,
  { decision, by }: { readonly decision: Decision; readonly by: string },
): Promise<string | undefined> {
  if (decision !== 'allow' || !LIMITS.has(payout.reasonCode)) return undefined;
  const [run, { users }] = await Promise.all([readRun({ ledger }, payout.runId), ledger.people.read()]);
  const lifter = (name: string): Lifter => ({
    name,
    role: users.find((user) => isSamePerson(user.name, name) && !user.isDisabled)?.role,
  });
  const proposal = payout.proposal?.decision === 'allow' ? payout.proposal : undefined;
  return whyNotLifted({
    reasonCode: payout.reasonCode,
    handedIn: run,
    proposer: lifter(proposal?.by ?? by),
    confirmer: proposal === undefined ? undefined : lifter(by),
    hasUsers: users.length > 0,
  });
}
