import { type Clock, rfc3339 } from '../../clock.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { DECISIONS, type Decision, type Payout } from '../../payout.ts';
import { waitedFor } from '../waited-for.ts';
import { decidableFrom, WHY_NOT_YET, whyNotDecided } from './decision.ts';

/** What people's choices rest on besides the payout. */
export interface DecisionRules {
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly quoteGraceMs: number;
  /** Every other host has said what it sent since Redis was restarted. */
  readonly hasAllCompared: boolean;
}

interface DecisionDeps {
  readonly ledger: Pick<Ledger, 'state'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly config: { readonly quoteGraceMs: number };
  readonly dataDirId: string;
}

export async function readDecisionRules({ ledger, clock, config, dataDirId }: DecisionDeps): Promise<DecisionRules> {
  const hasAllCompared = (await waitedFor(ledger, dataDirId)).length === 0;
  return { now: clock.now(), quoteGraceMs: config.quoteGraceMs, hasAllCompared };
}

/** Something that people may decide of a payout, or why not now. */
export interface Choice {
  readonly decision: Decision;
  /** Null: it may be decided, unless a fresh look-up says otherwise. */
  readonly whyNot: string | null;
}

/** What people may decide of a payout as it stands; the service's own clock decides. */
export function choicesOf(payout: Payout, rules: DecisionRules): Choice[] {
  return DECISIONS.map((decision) => ({ decision, whyNot: whyNot(payout, decision, rules) }));
}

function whyNot(payout: Payout, decision: Decision, rules: DecisionRules): string | null {
  if (!rules.hasAllCompared) return WHY_NOT_YET;
  const why = whyNotDecided(payout, decision);
  if (why !== undefined) return why;
  const from = decidableFrom(payout, decision, rules);
  return from === undefined || rules.now > from
    ? null
    : `it could still be paid: this can be decided from ${rfc3339(from)} on`;
}

/** What speaks for and against a payment of the payout having been made. */
export interface Indications {
  readonly paid: readonly string[];
  readonly notPaid: readonly string[];
}

/** What the ledger knows that speaks for and against the payout having been paid, in words for people. */
export function indicationsOf(payout: Payout, rules: Pick<DecisionRules, 'hasAllCompared'>): Indications {
  return { paid: signsOfPayment(payout), notPaid: signsAgainst(payout, rules) };
}

function signsOfPayment({ attempts, quoteId, seen2xx, quoteExpiresAt, reasonCode }: Payout): string[] {
  const requests = `${attempts} ${attempts === 1 ? 'payment request' : 'payment requests'}`;
  return [
    ...(quoteId === null ? [] : [`${requests} may have been sent, and the last quote is not proven dead`]),
    ...(reasonCode === 'E_DIR_LOST' ? ['a host that was written off may have sent it'] : []),
    ...(seen2xx ? ['the service answered a payment request with success'] : []),
    ...(quoteId !== null && quoteExpiresAt === null ? ['the service names no end of its quote'] : []),
  ];
}

function signsAgainst(payout: Payout, { hasAllCompared }: Pick<DecisionRules, 'hasAllCompared'>): string[] {
  const { attempts, quoteId, notFoundAt, quoteExpiresAt, rejectionConfirmed, reasonCode } = payout;
  const isKnown = hasAllCompared && reasonCode !== 'E_DIR_LOST';
  return [
    ...(attempts === 0 && isKnown ? ['no payment request was ever sent'] : []),
    ...(attempts > 0 && quoteId === null && isKnown ? ['each of its quotes was never sent, or is proven dead'] : []),
    ...(notFoundAt === null ? [] : [`the service knew no payment for it at ${rfc3339(notFoundAt)}`]),
    ...(quoteId !== null && quoteExpiresAt !== null ? [`its quote ends at ${rfc3339(quoteExpiresAt)}`] : []),
    ...(rejectionConfirmed ? ['a look-up after the end of its quote found no payment'] : []),
  ];
}
