import type { Ledger } from '../ledger/ledger.ts';
import type { Blocked } from '../ledger/people/approvals.ts';

export interface BlockDeps {
  readonly ledger: Pick<Ledger, 'approvals' | 'audit' | 'people'>;
}

/** Stops every payout to a beneficiary before its next arming, in all runs. One person is enough; the first reason stands. */
export async function blockBeneficiary(
  { ledger }: BlockDeps,
  identityId: string,
  { actor, reason }: { actor: string; reason: string },
): Promise<void> {
  const entry = { actor, action: 'beneficiary.blocked', target: identityId, details: { reason } };
  const act = await ledger.audit.waiting(entry);
  if (await ledger.approvals.block(identityId, { by: actor, reason, act })) await ledger.audit.appendWaiting();
  else await ledger.audit.append(entry);
}

/** Ends a block: one person proposes it, another one does the same. */
export async function unblockBeneficiary(
  { ledger }: BlockDeps,
  identityId: string,
  actor: string,
): Promise<'proposed' | 'unblocked' | 'same-person' | 'not-blocked'> {
  const result = await ledger.approvals.unblock(identityId, actor, await ledger.people.disabled());
  if (result === 'proposed' || result === 'unblocked') {
    const action = result === 'proposed' ? 'beneficiary.unblock-proposed' : 'beneficiary.unblocked';
    await ledger.audit.append({ actor, action, target: identityId, details: {} });
  }
  return result;
}

/** Who is blocked, by whom and why. */
export async function readBlocked({ ledger }: BlockDeps): Promise<readonly Blocked[]> {
  return await ledger.approvals.blocked();
}
