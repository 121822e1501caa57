import type { Ledger } from '../../ledger/ledger.ts';

/** Cancels the ready payouts of a cancelled run; may be run again after a crash. */
export async function cancelReady(
  ledger: Pick<Ledger, 'runs' | 'payouts'>,
  runId: string,
  actor: string,
): Promise<void> {
  // One that is held meanwhile, since a lost host may have sent it, stays held.
  const move = { runId, from: 'ready', to: 'cancelled', actor, reason: 'the run was cancelled' } as const;
  for await (const lines of ledger.runs.linesIn(runId, { state: 'ready' })) {
    await Promise.all(lines.map((line) => ledger.payouts.move({ ...move, line })));
  }
}
