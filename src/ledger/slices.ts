import type { Redis } from 'ioredis';
import { type DuePayout, openDuePayouts } from './due-payouts.ts';
import type { LedgerKeys } from './keys.ts';
import { integerOf, LedgerFault, listOf, runScript, script, textOf, textsOf } from './script.ts';
import { END_SLICE, FEED, TAKE_SLICES } from './scripts/feed.ts';

/** Consecutive payouts of a run, first and last line included. */
export interface Slice {
  readonly from: number;
  readonly to: number;
}

/** A slice as it was given out: `stamp` tells this time from any other. */
export interface GivenSlice extends Slice {
  readonly stamp: string;
}

export interface Slices {
  /** Where the feed of a run stands, the last line that was released, and how many slices are out. */
  position(runId: string): Promise<{ cursor: number; lastLine: number; releasedTo: number; out: number }>;
  /** Gives out slices; undefined when the run is not being paid or another process fed it meanwhile. */
  feed(runId: string, feed: { seen: number; cursor: number; slices: readonly Slice[] }): Promise<string | undefined>;
  /** Ends a slice unless it was given out anew; tells how many are out, and whether the run has more. */
  end(runId: string, slice: GivenSlice): Promise<{ out: number; more: boolean }>;
  /** Slices of the run that want a job again. */
  take(runId: string, most: number): Promise<GivenSlice[]>;
  /** Payouts that are due, put off for a while so that nobody else takes them. */
  takeDue(most: { look: number; track: number }): Promise<DuePayout[]>;
}

/** How long the sweeper leaves a slice alone after it was given out. */
const GIVEN_OUT_MS = 8000;

/** What of the ledger wants work: slices of runs, and payouts that are due. */
export function openSlices(redis: Redis, keys: LedgerKeys): Slices {
  const feedScript = script(FEED);
  const endScript = script(END_SLICE);
  const takeScript = script(TAKE_SLICES);
  const { prefix } = keys;
  return {
    async position(runId) {
      const [[cursor, last, stageEnd], out] = await Promise.all([
        redis.hmget(keys.run(runId), 'cursor', 'lastLine', 'stageEnd'),
        redis.zcard(keys.slices(runId)),
      ]);
      const lastLine = integerOf(last ?? '0');
      return { cursor: integerOf(cursor ?? '0'), lastLine, releasedTo: integerOf(stageEnd ?? lastLine), out };
    },
    async feed(runId, { seen, cursor, slices }) {
      const args = [runId, seen, cursor, GIVEN_OUT_MS, ...slices.map(sliceText)];
      const stamp = textOf(await runScript(redis, feedScript, { prefix, args }));
      return stamp === '' ? undefined : stamp;
    },
    async end(runId, slice) {
      const args = [runId, sliceText(slice), slice.stamp];
      const [out, more] = listOf(await runScript(redis, endScript, { prefix, args }));
      return { out: integerOf(out), more: integerOf(more) === 1 };
    },
    async take(runId, most) {
      const reply = listOf(await runScript(redis, takeScript, { prefix, args: [runId, most, GIVEN_OUT_MS] }));
      const stamp = textOf(reply[0]);
      return textsOf(reply[1]).map((text) => ({ ...readSlice(text), stamp }));
    },
    takeDue: openDuePayouts(redis, keys),
  };
}

function sliceText({ from, to }: Slice): string {
  return `${from}-${to}`;
}

function readSlice(text: string): Slice {
  const match = /^([0-9]+)-([0-9]+)$/.exec(text);
  if (match === null) throw new LedgerFault(`${JSON.stringify(text)} is no slice`);
  return { from: integerOf(match[1]), to: integerOf(match[2]) };
}
