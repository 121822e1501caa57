import type { Run } from '../../payout.ts';
import { rowsCounted } from '../../runs/progress.ts';

/**
 * Whether payouts of a run are known from intent logs alone, and wait for its file: it was restored from them, or its file
 * was then handed in by a command that was cut short (architecture.md, rule 4).
 */
export function isRowless({ rows, state, counts }: Pick<Run, 'rows' | 'state' | 'counts'>): boolean {
  if (state === 'recording' && rows === 0) return true;
  const isUnrecorded =
    (state === 'recording' || state === 'cancelled') && (rows === 0 || rowsCounted({ counts }) < rows);
  return isUnrecorded && counts.unknown > 0;
}

/** What such a run is, and what it needs. */
export function rowlessText({ id, counts, fileSha256 }: Run): string {
  const known =
    counts.unknown === 0
      ? 'it was handed in before Redis went back in time, and nothing becomes of it'
      : `${counts.unknown} payouts are known from intent logs only, and nothing becomes of them`;
  return `Run ${id}: ${known} before its file is handed in again: the one with SHA-256 ${fileSha256}.`;
}
