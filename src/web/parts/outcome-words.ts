import type { Outcome } from '../../payout.ts';
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
