import type { Run } from '../payout.ts';

/** Whether a run was restored from intent logs alone: its rows come back with its file (design 3, rule 4). */
export function isRowless({ rows, state }: Run): boolean {
  return state === 'recording' && rows === 0;
}

/** What such a run is, and what it needs. */
export function rowlessText({ id, counts, fileSha256 }: Run): string {
  return (
    `Run ${id}: ${counts.unknown} payouts are known from intent logs only, and nothing becomes of them before their file ` +
    `is handed in again: the one with SHA-256 ${fileSha256}.`
  );
}
