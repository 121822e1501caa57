import type { DropReason, PayoutState } from './payout.ts';

/** A move's condition on the payout's quote: `sent` when it has a spent one, `never-sent` when it has none. */
export type MoveGuard = 'sent' | 'never-sent';

export interface Move {
  readonly from: PayoutState;
  readonly to: PayoutState;
  readonly guard?: MoveGuard;
  /** The move is made only by dropping the quote for this reason. */
  readonly drops?: DropReason;
  readonly by: string;
}

/**
 * Every move that a payout may make (architecture.md). The ledger's script is given this very table and refuses and counts
 * whatever is not in it. `held` by a breach of an assertion is the one exception, see `mayMove`.
 */
export const MOVES: readonly Move[] = [
  { from: 'ready', to: 'armed', by: 'a quote in our currencies and amount with enough life left' },
  { from: 'ready', to: 'held', by: 'a limit, a suspected duplicate, the cost, or quotes that fail too often' },
  { from: 'ready', to: 'rejected', by: 'the quote was refused for good' },
  { from: 'ready', to: 'cancelled', by: 'cancel' },
  { from: 'armed', to: 'accepted', by: 'the service made the payment' },
  { from: 'armed', to: 'quoted', by: 'refused, may come again' },
  { from: 'armed', to: 'ready', drops: 'not-sent', by: 'no byte of the request left' },
  { from: 'armed', to: 'rejected', by: 'refused for good' },
  { from: 'armed', to: 'unknown', by: 'anything but a definite answer' },
  { from: 'quoted', to: 'armed', by: 'again with the same quote while it lives' },
  { from: 'quoted', to: 'unknown', by: 'the quote ended, or the run was paused or cancelled' },
  { from: 'quoted', to: 'accepted', by: 'a look-up found the payment' },
  { from: 'quoted', to: 'held', by: 'a data directory that may have armed it was written off' },
  { from: 'unknown', to: 'accepted', by: 'a look-up found the payment' },
  { from: 'unknown', to: 'ready', drops: 'proven-dead', by: 'the quote is proven dead' },
  { from: 'unknown', to: 'cancelled', drops: 'proven-dead', by: 'the quote is proven dead and the run was cancelled' },
  { from: 'unknown', to: 'held', by: 'nothing can prove the quote dead, or too many quotes, or too long' },
  { from: 'rejected', to: 'accepted', guard: 'sent', by: 'a look-up found the payment after all' },
  { from: 'held', to: 'ready', guard: 'never-sent', by: 'a person allows it' },
  { from: 'held', to: 'cancelled', guard: 'never-sent', by: 'a person drops it' },
  { from: 'held', to: 'accepted', guard: 'sent', by: 'a person or a look-up found the payment' },
  { from: 'held', to: 'rejected', guard: 'sent', by: 'two people settle that it was not paid' },
  { from: 'held', to: 'completed', guard: 'sent', by: 'two people settle that it was paid, and the service forgot it' },
  { from: 'accepted', to: 'completed', by: "the service's state" },
  { from: 'accepted', to: 'failed', by: "the service's state" },
  { from: 'accepted', to: 'returned', by: "the service's state" },
  { from: 'accepted', to: 'held', by: 'the service does not know it any more, or it failed beside another quote' },
  { from: 'completed', to: 'returned', by: "the service's state" },
];

/** A move that somebody asks for. */
export interface AskedMove {
  readonly from: PayoutState;
  readonly to: PayoutState;
  /** Whether the payout has a spent quote. */
  readonly sent: boolean;
  readonly breach?: boolean;
  readonly dropQuote?: DropReason;
}

/**
 * Whether the table lets a payout make a move. Only a move that says so drops a quote, and for its own reason. A breach
 * of an assertion may hold a payout from any state, with its quote.
 */
export function mayMove({ from, to, sent, breach, dropQuote }: AskedMove): boolean {
  if (breach === true) return to === 'held' && from !== 'held' && dropQuote === undefined;
  const row = MOVES.find((move) => move.from === from && move.to === to);
  if (row === undefined || row.drops !== dropQuote) return false;
  return row.guard === undefined || (row.guard === 'sent') === sent;
}
