import type { Ledger } from '../ledger/ledger.ts';

type Rows = Pick<Ledger, 'runs' | 'payouts'>;

/** Cancels the ready payouts of a cancelled run; may be run again after a crash. */
export async function cancelReady(ledger: Rows, runId: string, actor: string): Promise<void> {
  await cancelUnsent(ledger, runId, { state: 'ready', actor });
}

/** Cancels the payouts of a state that were never sent; false when one of them was sent, or changed meanwhile. */
export async function cancelUnsent(
  ledger: Rows,
  runId: string,
  { state, actor }: { state: 'ready' | 'held'; actor: string },
): Promise<boolean> {
  let isAll = true;
  for await (const lines of ledger.runs.linesIn(runId, { state })) {
    const move = { runId, to: 'cancelled', actor, reason: 'the run was cancelled' } as const;
    const answers = await Promise.all(lines.map((line) => ledger.payouts.move({ ...move, line })));
    isAll &&= answers.every(({ result }) => result === 'moved' || result === 'there');
  }
  return isAll;
}
