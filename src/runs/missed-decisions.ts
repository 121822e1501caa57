import { type MissedDecisions, missedDecisions } from '../audit/missed.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Log } from '../log.ts';
import type { RunState } from '../payout.ts';
import { blockBeneficiary } from './block.ts';
import { cancelRun, haltAll, pauseRun } from './control.ts';

const ACTOR = 'payrun';

interface MissedDeps {
  readonly ledger: Ledger;
  readonly log: Log;
}

/**
 * Compares this directory's copies of the audit log with Redis, before a season may open. A Redis that forgot what people
 * decided is halted with what is missing; blocks, cancels and pauses are done again at once, for they only stop, and every
 * run that goes on is paused (design 3, rule 4). What was said once is not said again.
 */
export async function redoMissedDecisions(deps: MissedDeps): Promise<void> {
  const { audit } = deps.ledger;
  const missing = await audit.missing();
  if (missing.length === 0) return;
  const missed = missedDecisions(missing);
  if (missed !== undefined) await stopAndRedo(deps, missed);
  await audit.noteMissing(missing);
}

async function stopAndRedo({ ledger, log }: MissedDeps, missed: MissedDecisions): Promise<void> {
  log.error('Redis went back in time: what people decided is missing', { reason: missed.text });
  const reason = `Redis went back in time; ${missed.text}`;
  const fault = await haltAll({ ledger }, { actor: ACTOR, reason });
  if (fault !== undefined) log.error('the halt is not on the audit log', { error: fault });
  const again = (what: string): { actor: string; reason: string } => ({ actor: ACTOR, reason: `again: ${what}` });
  for (const { target, details } of missed.blocked) {
    await blockBeneficiary({ ledger }, target, again(details['reason'] ?? ''));
  }
  const control = { ledger, wake: async () => {} };
  for (const runId of await ledger.runs.live()) {
    if (await goesOn(ledger, runId))
      await pauseRun(control, runId, { actor: ACTOR, reason: 'Redis went back in time' });
  }
  for (const { target, details } of missed.cancelled) {
    if (await isIn(ledger, target, BEFORE_THE_END)) await cancelRun(control, target, again(details['reason'] ?? ''));
  }
  for (const { target, details } of missed.paused) {
    if (await isIn(ledger, target, GOING_ON)) await pauseRun(control, target, again(details['reason'] ?? ''));
  }
}

/** One that waits for approval here, or that is not recorded yet, cannot be paused; people are told of what is missing. */
const GOING_ON: readonly RunState[] = ['paying', 'paused'];
const BEFORE_THE_END: readonly RunState[] = ['recording', 'awaiting-approval', ...GOING_ON];

/** Whether it is being paid, or will be at its time. */
async function goesOn(ledger: Ledger, runId: string): Promise<boolean> {
  const run = await ledger.runs.read(runId);
  return run !== undefined && (run.state === 'paying' || (run.state === 'paused' && run.startAt !== null));
}

/** A run that this Redis never had is in none of them. */
async function isIn(ledger: Ledger, runId: string, states: readonly RunState[]): Promise<boolean> {
  const run = await ledger.runs.read(runId);
  return run !== undefined && states.includes(run.state);
}
