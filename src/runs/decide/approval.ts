import { createHash } from 'node:crypto';
import type { ApprovalRules, ApprovalTier } from '../../config/approval.ts';
import { formatAmount, type Money } from '../../money.ts';
import type { Run } from '../../payout.ts';
import { approvalsMore, type HandedIn } from '../hand-in/handed-in.ts';

/** How many people must approve a run of these totals. */
export function approvalsNeeded(rules: ApprovalRules | null, totals: readonly Money[]): number {
  if (rules === null) return 0;
  if (rules.tiers === null) return 1;
  return Math.max(0, ...totals.map((total) => tierOf(rules.tiers?.get(total.currency), total)));
}

/** The same for a run, and one more where nobody is named who put its file into an inbox. */
export function approvalsNeededFor(rules: ApprovalRules | null, run: Pick<Run, 'fileTotals'> & HandedIn): number {
  const needed = approvalsNeeded(rules, run.fileTotals);
  return needed === 0 ? 0 : needed + approvalsMore(run);
}

function tierOf(tiers: readonly ApprovalTier[] | undefined, { minor }: Money): number {
  if (tiers === undefined) return 1;
  return tiers.findLast(({ from }) => minor >= from)?.approvals ?? 0;
}

/** What an approval is for: another file, row, total, limit or rule of approval makes it void. In hexadecimal. */
export function approvalDigest(
  {
    id,
    fileSha256,
    contentHash,
    rows,
    fileTotals,
    rowsDigest,
  }: Pick<Run, 'id' | 'fileSha256' | 'contentHash' | 'rows' | 'fileTotals' | 'rowsDigest'>,
  names: { readonly limits: string | undefined; readonly rules: string | undefined },
): string {
  const totals = fileTotals.map((total) => `${total.currency} ${formatAmount(total)}`).toSorted();
  return digestOf([
    id,
    fileSha256,
    contentHash,
    String(rows),
    rowsDigest ?? 'no digest of rows',
    ...totals,
    names.limits ?? 'no limits',
    names.rules ?? 'no rules',
  ]);
}

function digestOf(parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex');
}

/** The digest that must be approved before anything of the run is armed; null where nobody has to. */
export function approvalOf(
  run: Run,
  { approval, limits }: { readonly approval: ApprovalRules | null; readonly limits: { readonly name: string } | null },
): string | null {
  return approvalsNeeded(approval, run.fileTotals) === 0
    ? null
    : approvalDigest(run, { limits: limits?.name, rules: approval?.name });
}
