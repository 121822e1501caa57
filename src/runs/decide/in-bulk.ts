import type { Decision, Payout, PayoutState } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { isRefused } from '../../report/row.ts';
import { type DecideDeps, decidePayout } from './decide.ts';
import { type SettleState, settleReason } from './to-settle.ts';

/** Which payouts of a run are settled together: those that wait for one reason, or those of them on these lines. */
export interface BulkScope {
  readonly runId: string;
  /** Left out for all states in which people settle a payout. */
  readonly state?: SettleState | undefined;
  /** As `settleReason` tells it; left out for any. */
  readonly reason?: string | undefined;
  readonly lines?: ReadonlySet<number> | undefined;
}

/** What one person wants to be done with all of them. `paid` takes each as paid by the payment of its own quote. */
export interface BulkAsked {
  readonly decision: Decision;
  readonly by: string;
  readonly reason: string;
}

/** A payout that was left as it is, and why: it changed meanwhile, say, or the service knows more of it. */
export interface LeftOut {
  readonly line: number;
  /** Empty where the run has no payout on the line. */
  readonly reference: string;
  readonly why: string;
}

export interface BulkDecided {
  /** Now proposed: another person has to confirm them. */
  readonly proposed: number;
  /** Confirmed by a second person, and done. */
  readonly done: number;
  readonly leftOut: readonly LeftOut[];
  /** Whether there are more payouts than one call takes. */
  readonly more: boolean;
}

export const PAYOUTS_PER_CALL_MAX = 5000;
const AT_A_TIME = 8;
/** So many acts wait for their entries at most before those are written. */
const ACTS_WAIT_MAX = 40;
/** A rejection that nothing confirms is settled with those that are held. */
const HELD: readonly PayoutState[] = ['held', 'rejected'];

function statesOf({ state }: BulkScope): readonly PayoutState[] {
  if (state === undefined) return [...HELD, 'unknown'];
  return state === 'held' ? HELD : ['unknown'];
}

/**
 * Settles payouts of one reason together. Each is decided as if alone: its own guard, its own look-up, its own entry on the
 * audit log, by the same two people. What cannot be decided is left out and named, and so are a line that changed meanwhile
 * and a payout against which something speaks that people have to weigh for it alone.
 */
export async function decideInBulk(deps: DecideDeps, scope: BulkScope, asked: BulkAsked): Promise<BulkDecided> {
  const lines = scope.lines === undefined ? await findLines(deps, scope) : [...scope.lines].toSorted((a, b) => a - b);
  const leftOut: LeftOut[] = [];
  const counts = { proposed: 0, done: 0 };
  // Each act waits in Redis from its move on, and an entry of its own records it; to look for the log's end costs most.
  const { ledger } = deps;
  const own = { ...deps, ledger: { ...ledger, audit: { ...ledger.audit, appendWaiting: async () => {} } } };
  for (let from = 0; from < Math.min(lines.length, PAYOUTS_PER_CALL_MAX); from += ACTS_WAIT_MAX) {
    const waiting = lines.slice(from, Math.min(from + ACTS_WAIT_MAX, PAYOUTS_PER_CALL_MAX));
    const decideNext = async (): Promise<void> => {
      for (let line = waiting.shift(); line !== undefined; line = waiting.shift()) {
        const decided = await decideLine(own, { scope, asked, line });
        if (typeof decided === 'string') counts[decided] += 1;
        else leftOut.push(decided);
      }
    };
    try {
      await Promise.all(Array.from({ length: AT_A_TIME }, decideNext));
    } finally {
      await ledger.audit.appendWaiting();
    }
  }
  return {
    ...counts,
    leftOut: leftOut.toSorted((one, other) => one.line - other.line),
    more: lines.length > PAYOUTS_PER_CALL_MAX,
  };
}

async function decideLine(
  deps: DecideDeps,
  { scope, asked, line }: { scope: BulkScope; asked: BulkAsked; line: number },
): Promise<'proposed' | 'done' | LeftOut> {
  const row = await deps.ledger.runs.row(scope.runId, line);
  if (row === undefined || isRefused(row))
    return { line, reference: '', why: `The run has no payout on line ${line}.` };
  const { reference } = row.row;
  const why = whyOutOfScope(row, scope) ?? whyAlone(row, asked);
  if (why !== undefined) return { line, reference, why };
  try {
    return await decideOne(deps, row, asked);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { line, reference, why: error.message };
  }
}

async function decideOne(deps: DecideDeps, payout: Payout, asked: BulkAsked): Promise<'proposed' | 'done'> {
  const paymentId = asked.decision === 'paid' ? (payout.paymentId ?? payout.quoteId ?? '') : '';
  const { result } = await decidePayout(deps, payout, { ...asked, paymentId, caveats: 'alone' });
  if (result === 'to-read') throw new Error('a payout that is settled with others has nothing to be read');
  return result;
}

/** Why a payout is not among those that are settled; undefined where it is. */
function whyOutOfScope(payout: Payout, scope: BulkScope): string | undefined {
  const reason = settleReason(payout);
  if (!statesOf(scope).includes(payout.state)) return `It has changed meanwhile: it is ${payout.state} now.`;
  if (scope.reason === undefined || reason === scope.reason) return undefined;
  return `It has changed meanwhile: it is ${payout.state} for another reason now, ${reason}.`;
}

/** A payment that is not what was asked for is weighed for its payout alone. */
function whyAlone({ reasonCode }: Payout, { decision }: BulkAsked): string | undefined {
  if (decision !== 'paid' || reasonCode !== 'E_BREACH') return undefined;
  return 'The service shows another payment than was asked for: it has to be settled alone.';
}

async function findLines({ ledger }: DecideDeps, scope: BulkScope): Promise<number[]> {
  const found: number[] = [];
  for await (const batch of ledger.runs.rows(scope.runId, statesOf(scope))) {
    for (const row of batch) {
      if (isRefused(row) || whyOutOfScope(row, scope) !== undefined) continue;
      found.push(row.line);
      if (found.length > PAYOUTS_PER_CALL_MAX) return found;
    }
  }
  return found;
}
