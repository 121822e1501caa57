import type { MoveAnswer, PayoutMove } from '../ledger/payouts/acts.ts';
import type { PayDeps } from './deps.ts';
import { stopRun } from './stop.ts';

/** When a run pauses itself: as soon as so many of its last so many payments are unknown or were refused. */
export interface BreakerRule {
  readonly bad: number;
  readonly of: number;
}

/**
 * Makes a move that tells what came of a payment, and pauses the run when too many of its last ones went wrong: whatever
 * is wrong there, going on would only make more of it, and a person should look first.
 */
export async function moveWatched(
  deps: Pick<PayDeps, 'payouts' | 'runs' | 'log' | 'rules'>,
  move: PayoutMove,
): Promise<MoveAnswer> {
  const { breaker } = deps.rules;
  if (breaker === null) return await deps.payouts.move(move);
  const answer = await deps.payouts.move({ ...move, outcomesRemembered: breaker.of });
  if (answer.badOutcomes >= breaker.bad) {
    await stopRun(deps, move.runId, {
      code: 'E_BREAKER',
      reason: `${answer.badOutcomes} of its last ${breaker.of} payments are unknown or were refused`,
    });
  }
  return answer;
}
