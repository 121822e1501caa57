import type { Ledger } from '../../ledger/ledger.ts';
import type { Money } from '../../money.ts';
import { readToSettle } from '../../runs/decide/to-settle.ts';

/** Of so many held payouts, those of the newest runs first, groups are made. */
const GROUPED_MAX = 500;

/** Held payouts of a run that have one reason. */
export interface SettleGroup {
  readonly runId: string;
  readonly reasonCode: string;
  readonly payouts: number;
  /** One for each currency. */
  readonly sums: readonly Money[];
}

/** Groups of two payouts or more, the largest first. */
export async function readGroups({ runs }: Pick<Ledger, 'runs'>): Promise<SettleGroup[]> {
  const { payouts } = await readToSettle({ runs }, { from: null, most: GROUPED_MAX });
  const groups = new Map<string, { runId: string; reasonCode: string; payouts: number; minor: Map<string, bigint> }>();
  for (const { runId, reasonCode, state, row } of payouts) {
    if (state !== 'held' || reasonCode === null) continue;
    const key = `${runId} ${reasonCode}`;
    const group = groups.get(key) ?? { runId, reasonCode, payouts: 0, minor: new Map<string, bigint>() };
    group.payouts += 1;
    group.minor.set(row.amount.currency, (group.minor.get(row.amount.currency) ?? 0n) + row.amount.minor);
    groups.set(key, group);
  }
  return [...groups.values()]
    .filter((group) => group.payouts > 1)
    .map(({ minor, ...group }) => ({ ...group, sums: [...minor].map(([currency, sum]) => ({ currency, minor: sum })) }))
    .toSorted((one, other) => other.payouts - one.payouts);
}

/** Where a group is settled. */
export function hrefOfGroup({ runId, reasonCode }: Pick<SettleGroup, 'runId' | 'reasonCode'>): string {
  return `/runs/${encodeURIComponent(runId)}/settle/${encodeURIComponent(reasonCode)}`;
}
