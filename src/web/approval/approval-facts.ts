import type { ApprovalRules } from '../../config/approval.ts';
import type { Limits } from '../../config/limits.ts';
import type { Run } from '../../payout.ts';
import type { Beneficiaries } from '../../runs/beneficiaries.ts';
import type { ApprovalStanding } from '../../runs/decide/approve.ts';
import type { ScheduleChange } from '../../runs/schedule-changes.ts';
import type { FundsSeen } from './funds.ts';

/** Who is to get the money of a run. */
export interface Seen {
  readonly beneficiaries: Beneficiaries;
  /** By identity id, as far as the service tells them. */
  readonly names: ReadonlyMap<string, string>;
  /** Those of the shown ones to whom this ledger never paid anything. */
  readonly neverPaid: ReadonlySet<string>;
  /** Those whom people have blocked. */
  readonly blocked: ReadonlySet<string>;
}

/** What the page of an approval is made of. */
export interface ApprovalProps extends Seen, FundsSeen {
  readonly run: Run;
  /** Who looks. */
  readonly person: string;
  readonly standing: ApprovalStanding;
  readonly limits: Limits | null;
  readonly approval: ApprovalRules | null;
  /** Of the way by which it came here. */
  readonly changes: readonly ScheduleChange[];
  /** The run before it that came from a file of the same name; undefined for none lately. */
  readonly before: Run | undefined;
  /** Whether who looks may send it back. */
  readonly mayCancel: boolean;
}

/** Whether a payout that is held for this reason looks like one that was paid before, or stands twice in the file. */
export function isDuplicate(reason: string): boolean {
  return reason.startsWith('E_DUP_');
}
