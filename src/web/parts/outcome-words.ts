import type { Decision, Outcome, PayoutState } from '../../payout.ts';
import type { Tone } from './badge.tsx';

/** How a row stands by its outcome. */
export const OUTCOME_TONES: Readonly<Record<Outcome, Tone>> = {
  waiting: 'still',
  unknown: 'wait',
  pending: 'busy',
  paid: 'good',
  failed: 'bad',
  returned: 'bad',
  rejected: 'bad',
  held: 'wait',
  cancelled: 'still',
  refused: 'bad',
};

/** Outcomes of rows in the words of people; programs have the names. */
export const OUTCOME_WORDS: Readonly<Record<Outcome, string>> = {
  waiting: 'not started',
  unknown: 'not known yet',
  pending: 'on the way',
  paid: 'paid',
  failed: 'failed',
  returned: 'came back',
  rejected: 'rejected',
  held: 'held for a person',
  cancelled: 'cancelled',
  refused: 'refused in the file',
};

/** An outcome that was stored, in words; one that is not known by its name. */
export function outcomeWords(outcome: string): string {
  const words: Readonly<Record<string, string>> = OUTCOME_WORDS;
  return words[outcome] ?? outcome;
}

/** States of payouts as sentences that begin with `It`; programs have the names. */
export const STATE_WORDS: Readonly<Record<PayoutState | 'refused', string>> = {
  ready: 'is paid when its turn comes',
  armed: 'is being sent',
  quoted: 'was turned away for now; payrun tries again',
  unknown: 'may have been sent; payrun keeps looking what came of it',
  held: 'is held until people decide',
  accepted: 'is on the way: the service has the payment',
  rejected: 'was rejected and not paid',
  cancelled: 'was cancelled',
  completed: 'was paid',
  failed: 'failed at the service',
  returned: 'was paid and came back',
  refused: 'was refused in the file',
};

/** What people propose, said of one payout. */
export const PROPOSED_WORDS: Readonly<Record<Decision, string>> = {
  allow: 'to allow it',
  drop: 'to drop it',
  paid: 'to settle it as paid',
  'not-paid': 'to settle it as not paid',
};
