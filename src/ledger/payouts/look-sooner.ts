import type { Redis } from 'ioredis';
import type { LedgerKeys } from '../keys.ts';
import { openCommit } from './commit.ts';
import type { Change } from './decide-move.ts';
import { readText } from './reading.ts';
import type { StoredPayout } from './stored.ts';

const BLOCKS_PER_LOOK = 50;

/**
 * Makes payouts due now that wait for a later time; gives how many. `isWanted` is asked of each. To look early does no harm. One
 * that is moved meanwhile is left alone: it was given a new time.
 */
export function openLookSooner(
  redis: Redis,
  keys: LedgerKeys,
): (isWanted: (record: StoredPayout) => boolean) => Promise<number> {
  const commit = openCommit(keys.prefix);

  async function changesOf(block: string, isWanted: (record: StoredPayout) => boolean, now: number): Promise<Change[]> {
    const at = block.lastIndexOf(':');
    const runId = block.slice(0, at);
    const { v: _commits, ...texts } = await redis.hgetall(keys.rows(runId, Number.parseInt(block.slice(at + 1), 10)));
    return Object.entries(texts).flatMap(([line, text]): Change[] => {
      const record = readText(text);
      if (record === undefined || record instanceof Error) return [];
      const isLater = typeof record.due === 'number' && record.due > now;
      if (!isLater || !isWanted(record)) return [];
      const after = { ...record, version: record.version + 1, due: { fromNowMs: 0 } };
      return [{ runId, line: Number.parseInt(line, 10), before: record, after, dueMs: 0, operations: [] }];
    });
  }

  return async (isWanted) => {
    let count = 0;
    for (const set of [keys.due, keys.tracked]) {
      let cursor = '0';
      do {
        const [next, flat] = await redis.zscan(set, cursor, 'COUNT', BLOCKS_PER_LOOK);
        const [seconds] = await redis.time();
        const now = Number(seconds) * 1000;
        for (const block of flat.filter((_text, index) => index % 2 === 0)) {
          const { answers } = await commit(redis, await changesOf(block, isWanted, now), { kind: 'move' });
          count += answers.filter(({ text }) => text !== undefined).length;
        }
        cursor = next;
      } while (cursor !== '0');
    }
    return count;
  };
}
