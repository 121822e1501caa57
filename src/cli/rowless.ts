import type { Run } from '../payout.ts';

/** Whether rows of a run are known from intent logs or from the audit log alone: they come back with its file (design 3, rule 4). */
export function isRowless({ rows, state, counts, isInDoubt }: Run): boolean {
  if (rows === 0) return state === 'recording' || counts.unknown > 0;
  const recorded = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return isInDoubt && recorded < rows && counts.unknown > 0;
}

/** What such a run is, and what it needs. */
export function rowlessText({ id, counts, fileSha256 }: Run): string {
  const known =
    counts.unknown === 0
      ? 'it was handed in before Redis went back in time, and nothing becomes of it'
      : `${counts.unknown} payouts are known from intent logs only, and nothing becomes of them`;
  return `Run ${id}: ${known} before its file is handed in again: the one with SHA-256 ${fileSha256}.`;
}
