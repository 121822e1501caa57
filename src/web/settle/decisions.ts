import type { Decision, Proposal } from '../../payout.ts';
import { PROPOSED_WORDS } from '../parts/outcome-words.ts';

/** What each decision says of a payout, for people. */
export const DECISION_WORDS: Readonly<Record<Decision, string>> = {
  allow: 'Allow it: it is paid when its turn comes',
  drop: 'Drop it: it is given up and not paid',
  paid: 'It was paid, by the payment named below',
  'not-paid': 'It was not paid',
};

/** What a proposal is, such as `to settle it as paid by payment …`. */
export function proposalWords({ decision, paymentId }: Pick<Proposal, 'decision' | 'paymentId'>): string {
  return paymentId === '' ? PROPOSED_WORDS[decision] : `${PROPOSED_WORDS[decision]} by payment ${paymentId}`;
}
