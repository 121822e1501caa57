import type { Ledger } from '../../ledger/ledger.ts';
import type { Payout, RefusedRow, Run } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { haltAll } from '../decide/control.ts';
import { factsFinding, rowsFinding, type SealFinding } from './seals.ts';

/*
 * What people look at before they approve a run has true seals when they are shown it, not only when they approve: else a row
 * could be changed while they look, and back.
 */

interface SealDeps {
  readonly ledger: Ledger;
}

type Rows = readonly (Payout | RefusedRow)[];

/** Halts everything for a false seal, and throws a Refusal for any finding. */
export async function refuseFinding(deps: SealDeps, finding: SealFinding | undefined): Promise<void> {
  if (finding === undefined) return;
  if (finding.verdict === 'false') await haltAll(deps, { actor: 'payrun', reason: finding.reason });
  throw new Refusal(
    `It is not shown, because ${finding.reason}.`,
    finding.verdict === 'false'
      ? 'Everything is halted. Find out who can write to Redis; cancel the run, and hand its file in again.'
      : 'Ask whoever runs payrun; nothing was changed.',
  );
}

/** Whether people may approve it; a state has no seal, so one that is paused is judged whether or not it needs that. */
function isApprovable({ state }: Run): boolean {
  return state === 'awaiting-approval' || state === 'paused';
}

/** Refuses to show the facts and approvals of a run that can be approved, unless they are as payrun wrote them. */
export async function requireTrueFacts(deps: SealDeps, run: Run): Promise<void> {
  if (!isApprovable(run)) return;
  await refuseFinding(deps, factsFinding(deps.ledger, run));
}

/** The same for rows of it. Gives the rows. */
export async function requireTrueRows<Some extends Rows>(deps: SealDeps, run: Run, rows: Some): Promise<Some> {
  if (isApprovable(run)) await refuseFinding(deps, rowsFinding(deps, run, rows));
  return rows;
}

/** The same for rows as they are read. */
export async function* trueRows<Some extends Rows>(
  deps: SealDeps,
  run: Run,
  batches: AsyncIterable<Some>,
): AsyncGenerator<Some, void> {
  for await (const rows of batches) yield await requireTrueRows(deps, run, rows);
}
