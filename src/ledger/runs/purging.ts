import type { Redis } from 'ioredis';
import { FREE_STATES } from '../../payout.ts';
import { blockOf, type LedgerKeys } from '../keys.ts';
import { inBlocks, openReading } from '../payouts/reading.ts';
import { runScript, script, textOf } from '../script.ts';
import { BEGIN_PURGE, END_PURGE, PURGE_ROWS } from '../scripts/purge.ts';

/** A row whose record goes; the hash of its reference is null for a row that intake refused. */
export interface PurgedRow {
  readonly line: number;
  readonly referenceHash: string | null;
}

type Batches = AsyncIterable<readonly PurgedRow[]> | Iterable<readonly PurgedRow[]>;

export interface Purging {
  /** Begins, or goes on: `purging`; otherwise `purged`, `missing`, or why the run is not final. `now`: ms since 1970 by the caller's clock. */
  begin(runId: string, sinceEndMs: number, now: number): Promise<string>;
  /** Removes all rows of a run, given in file order, a block at a time; gives how many there were. */
  rows(runId: string, batches: Batches): Promise<number>;
  end(runId: string): Promise<void>;
}

/** Takes the records of runs that are final out of the ledger; each step may be run again. */
export function openPurging(redis: Redis, { prefix }: LedgerKeys): Purging {
  const scripts = { begin: script(BEGIN_PURGE), rows: script(PURGE_ROWS), end: script(END_PURGE) };
  const read = openReading(redis, prefix);

  /** All rows of each block that one of these is in. */
  async function purgeBlocks(runId: string, rows: readonly PurgedRow[]): Promise<void> {
    const { records } = await read(rows.map(({ line }) => ({ runId, line })));
    for (const { block, indexes } of inBlocks(rows.map(({ line }) => ({ runId, line })))) {
      const args = indexes.flatMap((index) => {
        const record = records[index];
        if (record instanceof Error) throw record;
        const state = record?.state ?? 'refused';
        const isFree = state !== 'refused' && FREE_STATES.includes(state);
        const values = ['q', 'pid', 'cf'].map((name) => record?.values.get(name) ?? '');
        return [rows[index]?.line ?? 0, ...values, (isFree && rows[index]?.referenceHash) || ''];
      });
      await runScript(redis, scripts.rows, { prefix, args: [runId, block, ...args] });
    }
  }

  return {
    async begin(runId, sinceEndMs, now) {
      return textOf(await runScript(redis, scripts.begin, { prefix, args: [runId, sinceEndMs, now] }));
    },
    async rows(runId, batches) {
      let count = 0;
      let waiting: readonly PurgedRow[] = [];
      for await (const batch of batches) {
        const all = [...waiting, ...batch];
        const last = blockOf(all.at(-1)?.line ?? 0);
        // The rest of the last block may be in the next batch.
        waiting = all.filter(({ line }) => blockOf(line) === last);
        await purgeBlocks(
          runId,
          all.filter(({ line }) => blockOf(line) !== last),
        );
        count += batch.length;
      }
      await purgeBlocks(runId, waiting);
      return count;
    },
    async end(runId) {
      await runScript(redis, scripts.end, { prefix, args: [runId] });
    },
  };
}
