import type { Ledger } from '../../ledger/ledger.ts';
import type { Money } from '../../money.ts';
import { readToSettle, type SettleFilter, type SettleState, settleReason } from '../../runs/decide/to-settle.ts';

/** Of so many payouts, those of the newest runs first, groups are made. */
const GROUPED_MAX = 500;

/** Payouts of a run that wait for one reason. */
export interface SettleGroup {
  readonly runId: string;
  readonly state: SettleState;
  /** As `settleReason` tells it. */
  readonly reason: string;
  /** Of held payouts that people settle together; null for the others. */
  readonly reasonCode: string | null;
  readonly payouts: number;
  /** One for each currency. */
  readonly sums: readonly Money[];
}

/** The groups among the payouts that the filter wants, the largest first. */
export async function readGroups({ runs }: Pick<Ledger, 'runs'>, filter: SettleFilter): Promise<SettleGroup[]> {
  const { payouts } = await readToSettle({ runs }, { ...filter, from: null, most: GROUPED_MAX });
  const groups = new Map<string, Omit<SettleGroup, 'sums'> & { payouts: number; minor: Map<string, bigint> }>();
  for (const payout of payouts) {
    const { runId, row } = payout;
    const state = payout.state === 'held' ? 'held' : 'unknown';
    const reason = settleReason(payout);
    const key = JSON.stringify([runId, state, reason]);
    const reasonCode = state === 'held' ? payout.reasonCode : null;
    const group = groups.get(key) ?? { runId, state, reason, reasonCode, payouts: 0, minor: new Map<string, bigint>() };
    group.payouts += 1;
    group.minor.set(row.amount.currency, (group.minor.get(row.amount.currency) ?? 0n) + row.amount.minor);
    groups.set(key, group);
  }
  return [...groups.values()]
    .map(({ minor, ...group }) => ({ ...group, sums: [...minor].map(([currency, sum]) => ({ currency, minor: sum })) }))
    .toSorted((one, other) => other.payouts - one.payouts);
}

/** Where held payouts of a run are settled together. */
export function hrefOfGroup({ runId, reasonCode }: { runId: string; reasonCode: string }): string {
  return `/runs/${encodeURIComponent(runId)}/settle/${encodeURIComponent(reasonCode)}`;
}
