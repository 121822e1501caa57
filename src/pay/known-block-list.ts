import type { Approvals } from '../ledger/people/approvals.ts';
import type { SeenVersions } from '../ledger/people/seen-versions.ts';
import type { SealVerdict } from '../ledger/seals.ts';

/** The block list as this process verified it last: an arming is refused where Redis has another one by then. */
export interface KnownBlockList {
  /** Reads and judges it anew. A version below one that was seen before from this data directory is false: somebody put a former list back. */
  refresh(): Promise<SealVerdict>;
  /** Its version and seal as Redis keeps them. */
  kept(): string;
  /** Whether nothing is paid to this beneficiary. */
  has(identityId: string): boolean;
}

interface KnownFrom {
  readonly approvals: Pick<Approvals, 'blockList'>;
  readonly seen: SeenVersions;
}

/** Knows an empty list until the first `refresh`. */
export function openKnownBlockList({ approvals, seen }: KnownFrom): KnownBlockList {
  let known = { kept: '', identityIds: new Set<string>() as ReadonlySet<string> };
  return {
    async refresh() {
      const { verdict, version, ...list } = await approvals.blockList();
      if (verdict !== 'true') return verdict;
      if (version < seen.highest('blocked')) return 'false';
      await seen.saw('blocked', version);
      known = list;
      return 'true';
    },
    kept: () => known.kept,
    has: (identityId) => known.identityIds.has(identityId),
  };
}
