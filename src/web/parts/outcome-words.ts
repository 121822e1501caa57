import type { Outcome } from '../../payout.ts';

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
