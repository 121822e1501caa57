import type { Redis } from 'ioredis';
import type { RunState } from '../payout.ts';
import type { LedgerKeys } from './keys.ts';
import { integerOf, listOf, runScript, script, textsOf } from './script.ts';
import { FIND_RUNS } from './scripts/find-runs.ts';

/** So many take Redis a millisecond or two, for which nothing else is answered. */
const RUNS_PER_CALL = 250;

/** What runs are looked for by; without anything, all are meant. */
export interface RunSearch {
  readonly state?: RunState | undefined;
  /** Stands in the id, the file's name or SHA-256, or the name of who submitted it, in any case of its ASCII letters. */
  readonly text?: string | undefined;
}

/**
 * Ids of the runs that were looked for, the newest first. Redis looks at a piece of the runs at a time, so that nobody else
 * waits long; one that comes meanwhile moves the others down a rank.
 */
export async function findRuns(
  redis: Redis,
  { runs, prefix }: LedgerKeys,
  { state, text = '' }: RunSearch,
): Promise<string[]> {
  if (state === undefined && text === '') return await redis.zrevrange(runs, 0, -1);
  const find = script(FIND_RUNS);
  const found = new Set<string>();
  for (let rank = 0; ; rank += RUNS_PER_CALL) {
    const args = [state ?? '', asciiLowerCase(text), rank, RUNS_PER_CALL];
    const [looked, ids] = listOf(await runScript(redis, find, { prefix, args }));
    for (const id of textsOf(ids)) found.add(id);
    if (integerOf(looked) < RUNS_PER_CALL) return [...found];
  }
}

/** As Redis's Lua folds letters. */
function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
