import type { Ledger } from '../ledger/ledger.ts';

/** Cancels the ready payouts of a cancelled run; may be run again after a crash. */
export async function cancelReady(ledger: Pick<Ledger, 'runs' | 'payouts'>, runId: string, actor: string): Promise<void> {
  for await (const lines of ledger.runs.linesIn(runId, { state: 'ready' })) {
    await Promise.all(
      lines.map((line) =>
        ledger.payouts.move({ runId, line, to: 'cancelled', actor, reason: 'the run was cancelled' }),
      ),
    );
  }
}
