import type { Redis } from 'ioredis';
import { type PayoutState, payoutId } from '../payout.ts';
import type { LedgerKeys } from './keys.ts';
import { stateOfLetter } from './payouts/stored.ts';
import { integerOf, LedgerFault, listOf, runScript, script, textsOf } from './script.ts';
import { PUT_OFF_BLOCKS, TAKE_BLOCKS } from './scripts/read.ts';

export interface DuePayout {
  readonly runId: string;
  readonly line: number;
  readonly state: PayoutState;
}

/** How many payouts to look up, and how many accepted ones to follow. */
export interface MostDue {
  readonly look: number;
  readonly track: number;
}

/** How long the sweeper leaves a due payout alone after it was given out. */
const GIVEN_OUT_MS = 8000;
/** Calls, each of which reads some blocks. */
const LOOKS_MAX = 100;

/** Takes payouts that are due, the earliest first, and puts them off for a while, so that nobody else takes them. */
export function openDuePayouts(redis: Redis, keys: LedgerKeys): (most: MostDue) => Promise<DuePayout[]> {
  const takeBlocks = script(TAKE_BLOCKS);
  const putOffBlocks = script(PUT_OFF_BLOCKS);
  const { prefix } = keys;
  /** Until when this process leaves a payout alone that it gave out, unless it wants something at another time by then. */
  const givenOut = new Map<string, { readonly until: number; readonly dueAt: number }>();
  const outUntil = ({ id, dueAt }: DueInBlock): number | undefined => {
    const out = givenOut.get(id);
    return out?.dueAt === dueAt ? out.until : undefined;
  };

  async function take({ look, track }: MostDue): Promise<{ now: number; blocks: TakenBlock[] }> {
    const args = [GIVEN_OUT_MS, look, track];
    const [time, taken] = listOf(await runScript(redis, takeBlocks, { prefix, args }));
    const now = integerOf(time);
    // One that is given out for longer was so before the clock of Redis stepped back.
    for (const [id, { until }] of givenOut) if (until <= now || until > now + GIVEN_OUT_MS) givenOut.delete(id);
    return { now, blocks: listOf(taken).map(readBlock) };
  }

  /** A block is due when the first of its payouts is that nobody works on. */
  async function putOff(blocks: readonly TakenBlock[]): Promise<void> {
    const args = blocks.flatMap(({ set, id, commits, payouts }) => {
      const times = payouts.map((one) => outUntil(one) ?? one.dueAt);
      return [set, id, commits, times.length === 0 ? '' : Math.min(...times)];
    });
    await runScript(redis, putOffBlocks, { prefix, args });
  }

  return async (most) => {
    const given: DuePayout[] = [];
    const left = { look: most.look, track: most.track };
    for (let looks = 0; looks < LOOKS_MAX && left.look + left.track > 0; looks++) {
      const { now, blocks } = await take(left);
      if (blocks.length === 0) break;
      const due = blocks
        .flatMap(({ payouts }) => payouts)
        .filter((one) => one.dueAt <= now && outUntil(one) === undefined)
        .toSorted((one, other) => one.dueAt - other.dueAt || one.payout.line - other.payout.line);
      for (const { id, dueAt, payout } of due) {
        const kind = isTracked(payout) ? 'track' : 'look';
        if (left[kind] === 0) continue;
        left[kind] -= 1;
        givenOut.set(id, { until: now + GIVEN_OUT_MS, dueAt });
        given.push(payout);
      }
      await putOff(blocks);
    }
    return given;
  };
}

function isTracked({ state }: DuePayout): boolean {
  return state === 'accepted';
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

/** Undefined for a damaged record: a sweep could not help it. */
function dueIn(runId: string, [line, letter, dueAt]: readonly string[]): DueInBlock | undefined {
  try {
    const state = stateOfLetter(letter);
    if (state === 'refused') return undefined;
    const payout = { runId, line: integerOf(line), state };
    return { id: payoutId(payout), dueAt: integerOf(dueAt), payout };
  } catch (error) {
    if (error instanceof LedgerFault) return undefined;
    throw error;
  }
}

function readBlock(reply: unknown): TakenBlock {
  const [set = '', id = '', commits = '', ...flat] = textsOf(reply);
  const runId = id.slice(0, id.lastIndexOf(':'));
  const payouts: DueInBlock[] = [];
  for (let index = 0; index < flat.length; index += 3) {
    const due = dueIn(runId, flat.slice(index, index + 3));
    if (due !== undefined) payouts.push(due);
  }
  return { set, id, commits, payouts };
}
