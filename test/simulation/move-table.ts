import type { PayoutState } from '../../src/payout.ts';
import type { Entry, RowState } from './store.ts';

/*
 * The table of moves, written out from architecture.md once more, so that a slip in the program's table shows when both ledgers
 * play the same moves.
 */

type Guard = 'any' | 'sent' | 'never-sent' | 'not-sent' | 'proven-dead';

const TABLE: Readonly<Record<RowState, Readonly<Partial<Record<PayoutState, Guard>>>>> = {
  ready: { armed: 'any', held: 'any', rejected: 'any', cancelled: 'any' },
  armed: { accepted: 'any', quoted: 'any', ready: 'not-sent', rejected: 'any', unknown: 'any' },
  quoted: { armed: 'any', unknown: 'any', accepted: 'any', held: 'any' },
  unknown: { accepted: 'any', ready: 'proven-dead', cancelled: 'proven-dead', held: 'any' },
  rejected: { accepted: 'sent' },
  held: { ready: 'never-sent', cancelled: 'never-sent', accepted: 'sent', rejected: 'sent', completed: 'sent' },
  accepted: { completed: 'any', failed: 'any', returned: 'any', held: 'any' },
  completed: { returned: 'any' },
  failed: {},
  returned: {},
  cancelled: {},
  refused: {},
};

/** Whether the table has the move. A breach may hold anything, with its quote. */
export function isInTable(
  entry: Entry,
  to: PayoutState,
  { drops, breach }: { drops?: string | undefined; breach?: boolean | undefined },
): boolean {
  if (breach === true) return to === 'held' && entry.state !== 'held' && drops === undefined;
  const guard = TABLE[entry.state][to];
  if (guard === undefined) return false;
  if (guard === 'not-sent' || guard === 'proven-dead') return drops === guard;
  if (drops !== undefined) return false;
  return guard === 'any' || (guard === 'sent') === (entry.quote !== null);
}
