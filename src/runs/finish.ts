import type { Ledger } from '../ledger/ledger.ts';
import type { PayDeps } from '../pay/deps.ts';
import { holdBreach } from '../pay/facts.ts';
import { readLookUpAnswer } from '../pay/look-up-answer.ts';
import type { Run } from '../payout.ts';
import { cancelReady, isOver } from './control.ts';

/** Ends a run that has nothing open any more, and carries a cancelled one to its end. Gives true when it is over. */
export async function finishRun(ledger: Ledger, runId: string): Promise<boolean> {
  const run = await ledger.runs.read(runId);
  if (run === undefined) return false;
  if (run.state === 'cancelled') {
    if (run.counts.ready > 0) await cancelReady(ledger, runId, 'payrun');
    const after = await ledger.runs.read(runId);
    if (after === undefined || !isOver(after)) return false;
    await ledger.runs.leave(runId);
    return true;
  }
  if (run.state !== 'paying' && run.state !== 'paused') return run.state === 'finished';
  const open = run.counts.ready + run.counts.armed + run.counts.quoted + run.counts.unknown;
  if (open > 0) return false;
  const { result } = await ledger.runs.move(runId, {
    to: 'finished',
    actor: 'payrun',
    reason: 'nothing is open any more',
  });
  return result === 'moved' || result === 'there';
}

/**
 * Looks up once more each quote of a finished run that was proven dead, and notes how many were found after all
 * (design 3, rule 8). One that is found is a breach. Does nothing when it was done before.
 */
export async function lookUpDeadQuotes(deps: PayDeps & { ledger: Ledger }, run: Run): Promise<void> {
  if (run.deadQuotesFound !== null) return;
  let found = 0;
  for (const { line, quoteId } of await deps.ledger.runs.deadQuotes(run.id)) {
    const { payout } = await deps.payouts.read({ runId: run.id, line });
    if (payout === undefined) continue;
    const reading = readLookUpAnswer(await deps.service.readPayment(quoteId), payout, quoteId);
    if (reading.kind !== 'found' && reading.kind !== 'breach') continue;
    found++;
    await holdBreach(deps, payout, `the quote ${quoteId} was proven dead and is paid`);
  }
  await deps.ledger.runs.note(run.id, { deadQuotesFound: String(found) });
}
