import type { App } from '../../app.ts';
import { openTally, type Tally } from '../../intake/tally.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Money } from '../../money.ts';
import {
  readToSettle,
  type SettleFilter,
  type SettlePage,
  type SettleState,
  settleReason,
} from '../../runs/decide/to-settle.ts';
import { hrefWith } from '../lists/href.ts';

/** Of so many payouts, those of the newest runs first, groups are made. */
const GROUPED_MAX = 500;
const REASONS_FRESH_MS = 10_000;
/** What a reason code looks like. */
export const REASON_CODE = /^[A-Z][A-Z0-9_]{1,39}$/;
/** In the place of a code: all payouts of the run of which nobody knows what came. */
export const UNKNOWN = 'unknown';

/** Payouts of a run that wait for one reason. */
export interface SettleGroup {
  readonly runId: string;
  readonly state: SettleState;
  /** As `settleReason` tells it. */
  readonly reason: string;
  readonly payouts: number;
  /** One for each currency. */
  readonly sums: readonly Money[];
}

export interface SettleGroups {
  /** The largest first. */
  readonly groups: readonly SettleGroup[];
  /** How many payouts were looked at, where there are more than that; null where these are all. */
  readonly outOf: number | null;
}

/** The groups among the payouts that the filter wants, and the first of these payouts. */
export async function readGroups(
  { runs }: Pick<Ledger, 'runs'>,
  filter: SettleFilter,
): Promise<SettleGroups & SettlePage> {
  const { payouts, next } = await readToSettle({ runs }, { ...filter, from: null, most: GROUPED_MAX });
  const groups = new Map<string, Omit<SettleGroup, 'sums'> & { payouts: number; tally: Tally }>();
  for (const payout of payouts) {
    const { runId, row } = payout;
    const state = payout.state === 'held' ? 'held' : 'unknown';
    const reason = settleReason(payout);
    const key = JSON.stringify([runId, state, reason]);
    const group = groups.get(key) ?? { runId, state, reason, payouts: 0, tally: openTally() };
    group.payouts += 1;
    group.tally.add(row.amount);
    groups.set(key, group);
  }
  return {
    groups: [...groups.values()]
      .map(({ tally, ...group }) => ({ ...group, sums: tally.totals() }))
      .toSorted((one, other) => other.payouts - one.payouts),
    outOf: next === null ? null : payouts.length,
    payouts,
    next,
  };
}

/** The reasons for which payouts wait, as they were a moment ago. */
export function openReasons({ ledger, clock }: Pick<App, 'ledger' | 'clock'>): () => Promise<readonly string[]> {
  let known: { readonly at: number; readonly reasons: readonly string[] } | undefined;
  return async () => {
    if (known === undefined || clock.monotonic() - known.at > REASONS_FRESH_MS) {
      const { groups } = await readGroups(ledger, {});
      known = { at: clock.monotonic(), reasons: [...new Set(groups.map(({ reason }) => reason))] };
    }
    return known.reasons;
  };
}

/** Where the payouts of a group are settled together; null where its reason is no code. */
export function hrefOfGroup({ runId, state, reason }: Pick<SettleGroup, 'runId' | 'state' | 'reason'>): string | null {
  const settle = `/runs/${encodeURIComponent(runId)}/settle`;
  if (state === 'unknown') return hrefWith(`${settle}/${UNKNOWN}`, { reason });
  return REASON_CODE.test(reason) ? `${settle}/${reason}` : null;
}
