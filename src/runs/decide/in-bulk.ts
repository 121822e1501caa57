import type { Decision, Payout, PayoutState } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { isRefused } from '../../report/row.ts';
import { type DecideDeps, decidePayout } from './decide.ts';

/** Which payouts of a run are settled together: those of one reason, or those of them on these lines. */
export interface BulkScope {
  readonly runId: string;
  readonly reasonCode: string;
  readonly lines?: ReadonlySet<number> | undefined;
}

/** What one person wants to be done with all of them. A payment is of one payout, so `paid` is not among it. */
export interface BulkAsked {
  readonly decision: Exclude<Decision, 'paid'>;
  readonly by: string;
  readonly reason: string;
}

/** A payout that was left as it is, and why: it changed meanwhile, say, or the service knows more of it. */
export interface LeftOut {
  readonly line: number;
  readonly reference: string;
  readonly why: string;
}

export interface BulkDecided {
  /** Now proposed: another person has to confirm them. */
  readonly proposed: number;
  /** Confirmed by a second person, and done. */
  readonly done: number;
  readonly leftOut: readonly LeftOut[];
  /** Whether there are more payouts of this reason than one call takes. */
  readonly more: boolean;
}

const STATES: readonly PayoutState[] = ['held', 'rejected'];
/** What a reason code looks like. */
export const REASON_CODE = /^[A-Z][A-Z0-9_]{1,39}$/;
export const PAYOUTS_PER_CALL_MAX = 5000;
const AT_A_TIME = 8;

/**
 * Settles payouts of one reason together. Each is decided as if alone: its own guard, its own look-up, its own entry on the
 * audit log, by the same two people. What cannot be decided is left out and named, and so is a payout against which something
 * speaks that people have to weigh for it alone.
 */
export async function decideInBulk(deps: DecideDeps, scope: BulkScope, asked: BulkAsked): Promise<BulkDecided> {
  const found = await findPayouts(deps, scope);
  const waiting = found.slice(0, PAYOUTS_PER_CALL_MAX);
  const leftOut: LeftOut[] = [];
  const counts = { proposed: 0, done: 0 };

  async function decideNext(): Promise<void> {
    for (let payout = waiting.shift(); payout !== undefined; payout = waiting.shift()) {
      try {
        counts[await decideOne(deps, payout, asked)] += 1;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        leftOut.push({ line: payout.line, reference: payout.row.reference, why: error.message });
      }
    }
  }

  await Promise.all(Array.from({ length: AT_A_TIME }, decideNext));
  return {
    ...counts,
    leftOut: leftOut.toSorted((one, other) => one.line - other.line),
    more: found.length > PAYOUTS_PER_CALL_MAX,
  };
}

async function decideOne(deps: DecideDeps, payout: Payout, asked: BulkAsked): Promise<'proposed' | 'done'> {
  const { result } = await decidePayout(deps, payout, { ...asked, paymentId: '', caveats: 'alone' });
  if (result === 'to-read') throw new Error('a payout that is settled with others has nothing to be read');
  return result;
}

async function findPayouts({ ledger }: DecideDeps, { runId, reasonCode, lines }: BulkScope): Promise<Payout[]> {
  const found: Payout[] = [];
  for await (const batch of ledger.runs.rows(runId, STATES)) {
    for (const row of batch) {
      if (isRefused(row) || row.reasonCode !== reasonCode || lines?.has(row.line) === false) continue;
      found.push(row);
      if (found.length > PAYOUTS_PER_CALL_MAX) return found;
    }
  }
  return found;
}
