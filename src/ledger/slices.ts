import type { Redis } from 'ioredis';
import { PAYOUT_STATES, type PayoutState } from '../payout.ts';
import type { LedgerKeys } from './keys.ts';
import { integerOf, LedgerFault, listOf, runScript, script, textOf, textsOf } from './script.ts';
import { END_SLICE, FEED, TAKE_DUE, TAKE_SLICES } from './scripts/feed.ts';

/** Consecutive payouts of a run, first and last line included. */
export interface Slice {
  readonly from: number;
  readonly to: number;
}

/** A slice as it was given out: `stamp` tells this time from any other. */
export interface GivenSlice extends Slice {
  readonly stamp: string;
}

export interface DuePayout {
  readonly runId: string;
  readonly line: number;
  readonly state: PayoutState;
}

export interface Slices {
  /** Where the feed of a run stands, and how many slices are out. */
  position(runId: string): Promise<{ cursor: number; lastLine: number; out: number }>;
  /** Gives out slices; undefined when the run is not being paid or another process fed it meanwhile. */
  feed(runId: string, feed: { seen: number; cursor: number; slices: readonly Slice[] }): Promise<string | undefined>;
  /** Ends a slice unless it was given out anew; tells how many are out, and whether the run has more. */
  end(runId: string, slice: GivenSlice): Promise<{ out: number; more: boolean }>;
  /** Slices of the run that want a job again. */
  take(runId: string, most: number): Promise<GivenSlice[]>;
  /** Payouts that are due, put off for a while so that nobody else takes them. */
  takeDue(most: { look: number; track: number }): Promise<DuePayout[]>;
}

/** How long the sweeper leaves a slice or a due payout alone after it was given out. */
const GIVEN_OUT_MS = 8000;

/** What of the ledger wants work: slices of runs, and payouts that are due. */
export function openSlices(redis: Redis, keys: LedgerKeys): Slices {
  const feedScript = script(FEED);
  const endScript = script(END_SLICE);
  const takeScript = script(TAKE_SLICES);
  const dueScript = script(TAKE_DUE);
  const { prefix } = keys;
  return {
    async position(runId) {
      const [[cursor, lastLine], out] = await Promise.all([
        redis.hmget(keys.run(runId), 'cursor', 'lastLine'),
        redis.zcard(keys.slices(runId)),
      ]);
      return { cursor: integerOf(cursor ?? '0'), lastLine: integerOf(lastLine ?? '0'), out };
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
    async takeDue({ look, track }) {
      const flat = textsOf(await runScript(redis, dueScript, { prefix, args: [look, track, GIVEN_OUT_MS] }));
      const due: DuePayout[] = [];
      for (let index = 0; index < flat.length; index += 3) {
        const state = PAYOUT_STATES.find((known) => known === flat[index + 2]);
        if (state !== undefined) due.push({ runId: flat[index] ?? '', line: integerOf(flat[index + 1]), state });
      }
      return due;
    },
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
