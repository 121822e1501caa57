import type { Redis } from 'ioredis';
import { type PayoutPlace, type PayoutState, payoutId } from '../payout.ts';
import type { LedgerKeys } from './keys.ts';
import { readText } from './payouts/reading.ts';
import { integerOf, LedgerFault, listOf, runScript, script, textOf, textsOf } from './script.ts';
import { END_SLICE, FEED, TAKE_SLICES } from './scripts/feed.ts';
import { PUT_OFF_BLOCKS, TAKE_BLOCKS } from './scripts/read.ts';

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

/** How long the sweeper leaves a slice or a due payout alone after it was given out. */
const GIVEN_OUT_MS = 8000;
/** Blocks that one look reads. */
const BLOCKS_PER_LOOK = 100;

/** What of the ledger wants work: slices of runs, and payouts that are due. */
export function openSlices(redis: Redis, keys: LedgerKeys): Slices {
  const feedScript = script(FEED);
  const endScript = script(END_SLICE);
  const takeScript = script(TAKE_SLICES);
  const takeBlocks = script(TAKE_BLOCKS);
  const putOffBlocks = script(PUT_OFF_BLOCKS);
  /** Until when this process leaves a payout alone that it gave out, unless it wants something at another time by then. */
  const givenOut = new Map<string, { readonly until: number; readonly dueAt: number }>();
  const outUntil = ({ id, dueAt }: DueInBlock): number | undefined => {
    const out = givenOut.get(id);
    return out?.dueAt === dueAt ? out.until : undefined;
  };
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
    async takeDue({ look, track }) {
      const [time, taken] = listOf(
        await runScript(redis, takeBlocks, { prefix, args: [BLOCKS_PER_LOOK, GIVEN_OUT_MS] }),
      );
      const now = integerOf(time);
      // One that is given out for longer was so before the clock of Redis stepped back.
      for (const [id, { until }] of givenOut) if (until <= now || until > now + GIVEN_OUT_MS) givenOut.delete(id);
      const blocks = listOf(taken).map((reply) => readBlock(reply, keys));
      const due = blocks
        .flatMap(({ payouts }) => payouts)
        .filter((one) => one.dueAt <= now && outUntil(one) === undefined)
        .toSorted((one, other) => one.dueAt - other.dueAt || one.payout.line - other.payout.line);
      const given = [...due.filter(isTracked).slice(0, track), ...due.filter((one) => !isTracked(one)).slice(0, look)];
      for (const { id, dueAt } of given) givenOut.set(id, { until: now + GIVEN_OUT_MS, dueAt });
      const args = blocks.flatMap(({ set, id, commits, payouts }) => {
        const times = payouts.map((one) => outUntil(one) ?? one.dueAt);
        return [set, id, commits, times.length === 0 ? '' : Math.min(...times)];
      });
      if (args.length > 0) await runScript(redis, putOffBlocks, { prefix, args });
      return given.map(({ payout }) => payout);
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

function isTracked({ payout }: DueInBlock): boolean {
  return payout.state === 'accepted';
}

interface DueInBlock {
  readonly id: string;
  readonly dueAt: number;
  readonly payout: DuePayout;
}

interface TakenBlock {
  readonly set: string;
  readonly id: string;
  /** Commits to it so far. */
  readonly commits: string;
  /** Those of its payouts that want something at some time, and belong to the set. */
  readonly payouts: readonly DueInBlock[];
}

function readBlock(reply: unknown, { tracked }: LedgerKeys): TakenBlock {
  const [set = '', id = '', ...flat] = textsOf(reply);
  const runId = id.slice(0, id.lastIndexOf(':'));
  let commits = '';
  const payouts: DueInBlock[] = [];
  for (let index = 0; index < flat.length; index += 2) {
    const [name = '', text = ''] = [flat[index], flat[index + 1]];
    if (name === 'v') commits = text;
    const due = name === 'v' ? undefined : dueIn({ runId, line: Number.parseInt(name, 10) }, text);
    if (due !== undefined && isTracked(due) === (set === tracked)) payouts.push(due);
  }
  return { set, id, commits, payouts };
}

/** A record that cannot be read is nothing that a sweep could help. */
function dueIn({ runId, line }: PayoutPlace, text: string): DueInBlock | undefined {
  const record = readText(text);
  if (record === undefined || record instanceof Error || record.state === 'refused') return undefined;
  const { due, state } = record;
  if (typeof due !== 'number' || due === 0) return undefined;
  return { id: payoutId({ runId, line }), dueAt: due, payout: { runId, line, state } };
}
