import type { Redis } from 'ioredis';
import { PAYOUT_STATES } from '../../payout.ts';
import type { LedgerKeys } from '../keys.ts';
import { runScript, script, textOf } from '../script.ts';
import { BEGIN_PURGE, END_PURGE, PURGE_ROWS } from '../scripts/purge.ts';

/** A row whose record goes; the hash of its reference is null for a row that intake refused. */
export interface PurgedRow {
  readonly line: number;
  readonly referenceHash: string | null;
}

export interface Purging {
  /** Begins, or goes on: `purging`; otherwise `purged`, `missing`, or why the run is not final. */
  begin(runId: string, sinceEndMs: number): Promise<string>;
  rows(runId: string, rows: readonly PurgedRow[]): Promise<void>;
  end(runId: string): Promise<void>;
}

/** Takes the records of runs that are final out of the ledger; each step may be run again. */
export function openPurging(redis: Redis, { prefix }: LedgerKeys): Purging {
  const scripts = { begin: script(BEGIN_PURGE), rows: script(PURGE_ROWS), end: script(END_PURGE) };
  return {
    async begin(runId, sinceEndMs) {
      return textOf(await runScript(redis, scripts.begin, { prefix, args: [runId, sinceEndMs] }));
    },
    async rows(runId, rows) {
      const argument = rows.map(({ line, referenceHash }) => ({ l: line, h: referenceHash ?? undefined }));
      await runScript(redis, scripts.rows, { prefix, args: [runId, JSON.stringify(argument)] });
    },
    async end(runId) {
      await runScript(redis, scripts.end, { prefix, args: [runId, ...PAYOUT_STATES, 'refused'] });
    },
  };
}
