import type { Redis } from 'ioredis';
import type { PayoutState, RunState } from '../../payout.ts';
import type { LedgerKeys } from '../keys.ts';
import { integerOf, listOf, runScript, script, textOf, textsOf } from '../script.ts';
import { FIND_RUNS, READ_RUN_TEXTS } from '../scripts/find-runs.ts';

/** So many take Redis two or three milliseconds, for which nothing else is answered. */
const RUNS_PER_CALL = 1000;
/** The next call is there when one has been answered. */
const CALLS_AT_ONCE = 2;
/** Of so many runs the texts are kept, some 250 bytes each; those of the others are read for each search. */
const TEXTS_KEPT_MAX = 50_000;

/** A state; or those paused ones alone that start by themselves. */
export type SoughtState = RunState | 'starts-later';

/** What runs are looked for by; without anything, all are meant. */
export interface RunSearch {
  readonly state?: SoughtState | undefined;
  /** A row is in one of these states; without any, all runs are meant. */
  readonly having?: readonly (PayoutState | 'refused')[] | undefined;
  /** Stands in the id, the file's name or SHA-256, or the name of who submitted it, in any case of its ASCII letters. */
  readonly text?: string | undefined;
  /** Of those that are found, the newest first, so many are left out, and then so many given; all unless told. */
  readonly skip?: number | undefined;
  readonly most?: number | undefined;
}

export interface FoundRuns {
  /** The newest first. */
  readonly ids: readonly string[];
  /** How many were found, given or not. */
  readonly total: number;
}

/**
 * Finds runs. Their texts are read once, for they never change; what state each is in is looked at anew every time, a piece
 * of the runs at a time, so that nobody else waits long.
 */
export function openRunSearch(redis: Redis, keys: LedgerKeys): (search: RunSearch) => Promise<FoundRuns> {
  const textsOfRuns = openTexts(redis, keys);
  return async ({ state, having = [], text = '', skip = 0, most = Number.MAX_SAFE_INTEGER }) => {
    const end = Math.min(skip + most, Number.MAX_SAFE_INTEGER);
    if (text === '' && state === undefined && having.length === 0) return await newestRuns(redis, keys, { skip, end });
    if (text === '') {
      const { ids, total } = await runsIn(redis, keys, { state, having, most: end });
      return { ids: ids.slice(skip), total };
    }
    const { ids } = await runsIn(redis, keys, { state, having, most: Number.MAX_SAFE_INTEGER });
    const texts = await textsOfRuns(ids);
    const wanted = asciiLowerCase(text);
    const found = ids.filter((_, at) => texts[at]?.includes(wanted) === true);
    return { ids: found.slice(skip, end), total: found.length };
  };
}

async function newestRuns(
  redis: Redis,
  { runs }: LedgerKeys,
  { skip, end }: { skip: number; end: number },
): Promise<FoundRuns> {
  const [total, ids] = await Promise.all([redis.zcard(runs), redis.zrevrange(runs, skip, end - 1)]);
  return { ids, total };
}

/** Runs come with the highest rank and none goes, so that ranks counted from the oldest one mean the same in each call. */
async function runsIn(
  redis: Redis,
  { runs, prefix }: LedgerKeys,
  { state, having, most }: Required<Pick<RunSearch, 'state' | 'having'>> & { most: number },
): Promise<FoundRuns> {
  const find = script(FIND_RUNS);
  const fields = having?.map((one) => `n:${one}`) ?? [];
  const pieces: FoundRuns[] = [];
  for (let left = await redis.zcard(runs); left > 0; left -= RUNS_PER_CALL * CALLS_AT_ONCE) {
    const calls = Array.from({ length: CALLS_AT_ONCE }, (_, at) => left - at * RUNS_PER_CALL).filter((end) => end > 0);
    const answers = calls.map(async (end) => {
      const args = [state ?? '', Math.max(0, end - RUNS_PER_CALL), end - 1, Math.min(most, RUNS_PER_CALL), ...fields];
      const [count, ids] = listOf(await runScript(redis, find, { prefix, args }));
      return { ids: textOf(ids).split(' ').filter(Boolean), total: integerOf(count) };
    });
    pieces.push(...(await Promise.all(answers)));
  }
  const ids = pieces.flatMap((piece) => piece.ids);
  return { ids: ids.slice(0, most), total: pieces.reduce((sum, piece) => sum + piece.total, 0) };
}

/** Gives the texts of runs, each in its place and in lower case. */
function openTexts(redis: Redis, { prefix }: LedgerKeys): (ids: readonly string[]) => Promise<string[]> {
  const readTexts = script(READ_RUN_TEXTS);
  const kept = new Map<string, string>();
  return async (ids) => {
    const read = new Map<string, string>();
    const unknown = ids.filter((id) => !kept.has(id));
    for (let from = 0; from < unknown.length; from += RUNS_PER_CALL) {
      const args = unknown.slice(from, from + RUNS_PER_CALL);
      const texts = textsOf(await runScript(redis, readTexts, { prefix, args }));
      texts.forEach((text, at) => {
        const id = args[at] ?? '';
        // One that was restored from an intent log gets its name when its file comes again.
        const isWhole = !text.startsWith('\u001f');
        (isWhole && kept.size < TEXTS_KEPT_MAX ? kept : read).set(id, asciiLowerCase(text));
      });
    }
    return ids.map((id) => kept.get(id) ?? read.get(id) ?? '');
  };
}

/** Letters beyond ASCII as they are: a name is found as it is written. */
function asciiLowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
