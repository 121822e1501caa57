import type { App } from '../app.ts';
import type { Run } from '../payout.ts';
import { type ApprovalStanding, approvalStanding, hasApproved, isCutShort } from '../runs/decide/approve.ts';
import { handedInAs } from '../runs/hand-in/handed-in.ts';
import type { Person } from './web.ts';

/** What waits for a person. */
export interface Waiting {
  /** Runs that they may approve, and whose approval they have not given. */
  readonly approve: readonly Run[];
  /** Runs with payouts that people decide of, or of which nobody knows yet what became. */
  readonly settle: readonly Run[];
  /** The ones and the others of those payouts. */
  readonly held: number;
  readonly unknown: number;
}

export async function waitingFor(
  app: Pick<App, 'config' | 'clock' | 'ledger'>,
  who: Person,
  runs: readonly Run[],
): Promise<Waiting> {
  const disabled = await app.ledger.people.disabled();
  const settle = runs.filter(({ counts }) => counts.held + counts.unknown > 0);
  return {
    approve: who.may('approve') ? runs.filter((run) => mayApprove(approvalStanding(app, run, disabled), who, run)) : [],
    settle,
    held: settle.reduce((sum, { counts }) => sum + counts.held, 0),
    unknown: settle.reduce((sum, { counts }) => sum + counts.unknown, 0),
  };
}

function mayApprove(standing: ApprovalStanding, who: Person, run: Run): boolean {
  if (run.state !== 'awaiting-approval' || handedInAs(who.name, run) !== undefined) return false;
  return !hasApproved(standing, who.name) || isCutShort(run, standing);
}
