import type { Redis } from 'ioredis';
import type { LedgerKeys } from './keys.ts';
import { openReading } from './payouts/reading.ts';
import { type RowState, STATE_LETTERS, type StoredPayout, stateOfLetter } from './payouts/stored.ts';
import { integerOf, runScript, script } from './script.ts';
import { BEGIN_PAYOUTS } from './scripts/outbox.ts';

/** Letters that are compared in one call: those of so many lines. */
const LETTERS_PER_CALL = 64 * 1024;

export interface PayoutNewsQuery {
  readonly runId: string;
  readonly endpoint: string;
  /** Since when the endpoint is told of payouts. */
  readonly since: string;
  /** States that are told; all others count as one. */
  readonly states: ReadonlySet<RowState>;
  /** Payouts that are read at most. */
  readonly most: number;
  /** The endpoint is full when so many notifications wait for it. */
  readonly full: number;
}

/** A payout whose state is not the one that the endpoint was told of. */
export interface ChangedPayout {
  readonly line: number;
  /** As it was when the endpoint was told; null where it was not. */
  readonly told: RowState | null;
  readonly state: RowState;
  readonly steps: readonly { readonly state: RowState; readonly at: number }[];
}

export interface PayoutNews {
  /** Ascending by line. */
  readonly changed: readonly ChangedPayout[];
  readonly hasMore: boolean;
  /** Nothing was read: too much waits for the endpoint. */
  readonly isFull: boolean;
}

/** What is new of a run's payouts for one endpoint, a part of it at a time. */
export interface PayoutReading {
  readPayouts(query: PayoutNewsQuery): Promise<PayoutNews>;
}

export function openPayoutNews(redis: Redis, keys: LedgerKeys): PayoutReading {
  const begin = script(BEGIN_PAYOUTS);
  const readRecords = openReading(redis, keys.prefix);

  /** One more than `most`, where there are more. */
  async function findChanged({ runId, endpoint, states, most }: PayoutNewsQuery): Promise<Difference[]> {
    const found: Difference[] = [];
    const isTold = letterTable(states);
    for (let from = 0; found.length <= most; from += LETTERS_PER_CALL) {
      const to = from + LETTERS_PER_CALL - 1;
      const [now, told] = await Promise.all([
        redis.getrangeBuffer(keys.states(runId), from, to),
        redis.getrangeBuffer(keys.toldStates(runId, endpoint), from, to),
      ]);
      if (now.length === 0) break;
      for (let at = 0; at < now.length && found.length <= most; at++) {
        const [letter = 0, before = 0] = [now[at], told[at]];
        const [shown, shownBefore] = [isTold[letter] === 1 ? letter : 0, isTold[before] === 1 ? before : 0];
        if (shown !== shownBefore) found.push({ line: from + at, letter, before });
      }
    }
    return found;
  }

  return {
    async readPayouts(query) {
      const { runId, endpoint, since, most, full } = query;
      const waiting = await runScript(redis, begin, { prefix: keys.prefix, args: [runId, endpoint, since] });
      if (integerOf(waiting) >= full) return { changed: [], hasMore: true, isFull: true };
      const found = await findChanged(query);
      const part = found.slice(0, most);
      if (part.length === 0) return { changed: [], hasMore: false, isFull: false };
      const { records } = await readRecords(part.map(({ line }) => ({ runId, line })));
      const changed = part.map((difference, index) => changedPayout(difference, records[index]));
      return { changed, hasMore: found.length > most, isFull: false };
    },
  };
}

interface Difference {
  readonly line: number;
  readonly letter: number;
  readonly before: number;
}

function letterTable(states: ReadonlySet<RowState>): Uint8Array {
  const table = new Uint8Array(256);
  for (const state of states) table[STATE_LETTERS[state].charCodeAt(0)] = 1;
  return table;
}

/** The record may be newer than the letter. Of one that is damaged only the letter is known. */
function changedPayout({ line, letter, before }: Difference, record: StoredPayout | Error | undefined): ChangedPayout {
  const told = stateOf(before);
  if (record === undefined || record instanceof Error) {
    return { line, told, state: stateOfLetter(String.fromCharCode(letter)), steps: [] };
  }
  let at = 0;
  const steps = record.history.map(([to, ms]) => {
    at += ms;
    return { state: stateOfLetter(to), at };
  });
  return { line, told, state: record.state, steps };
}

function stateOf(letter: number): RowState | null {
  return letter === 0 ? null : stateOfLetter(String.fromCharCode(letter));
}
