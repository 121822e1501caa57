import type { Redis } from 'ioredis';
import { FREE_STATES } from '../../payout.ts';
import type { LedgerKeys } from '../keys.ts';
import { inBlocks, openReading } from '../payouts/reading.ts';
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
  /** Removes all rows of each block that one of these is in. */
  rows(runId: string, rows: readonly PurgedRow[]): Promise<void>;
  end(runId: string): Promise<void>;
}

/** Takes the records of runs that are final out of the ledger; each step may be run again. */
export function openPurging(redis: Redis, { prefix }: LedgerKeys): Purging {
  const scripts = { begin: script(BEGIN_PURGE), rows: script(PURGE_ROWS), end: script(END_PURGE) };
  const read = openReading(redis, prefix);
  return {
    async begin(runId, sinceEndMs) {
      return textOf(await runScript(redis, scripts.begin, { prefix, args: [runId, sinceEndMs] }));
    },
    async rows(runId, rows) {
      const { records } = await read(rows.map(({ line }) => ({ runId, line })));
      for (const { block, indexes } of inBlocks(rows.map(({ line }) => ({ runId, line })))) {
        const args = indexes.flatMap((index) => {
          const record = records[index];
          if (record instanceof Error) throw record;
          const state = record?.state ?? 'refused';
          const isFree = state !== 'refused' && FREE_STATES.includes(state);
          const values = ['q', 'pid'].map((name) => record?.values.get(name) ?? '');
          return [rows[index]?.line ?? 0, ...values, (isFree && rows[index]?.referenceHash) || ''];
        });
        await runScript(redis, scripts.rows, { prefix, args: [runId, block, ...args] });
      }
    },
    async end(runId) {
      await runScript(redis, scripts.end, { prefix, args: [runId] });
    },
  };
}
