import type { Redis } from 'ioredis';
import { blockOf, ledgerKeys } from '../../src/ledger/keys.ts';
import { decode, encode, STATE_LETTERS, type RowState, type StoredPayout } from '../../src/ledger/stored.ts';
import type { PayoutPlace } from '../../src/payout.ts';

/** A place in a ledger, for what somebody does who can write to Redis. */
export interface RecordPlace extends PayoutPlace {
  readonly redis: Redis;
  readonly prefix: string;
}

/** The record as it stands; undefined where there is none. */
export async function readStored({ redis, prefix, runId, line }: RecordPlace): Promise<StoredPayout | undefined> {
  const text = await redis.hget(ledgerKeys(prefix).rows(runId, blockOf(line)), String(line));
  return text === null ? undefined : decode(text);
}

/** The values of a record, with `s` its state and `v` its version; empty where there is none. */
export async function readValues(place: RecordPlace): Promise<Record<string, string>> {
  const stored = await readStored(place);
  if (stored === undefined) return {};
  return { ...Object.fromEntries(stored.values), s: stored.state, v: String(stored.version) };
}

/** Changes values of a record behind payrun's back; `''` takes one away. The version stays. */
export async function changeStored(place: RecordPlace, values: Readonly<Record<string, string>>): Promise<void> {
  const stored = await readStored(place);
  if (stored === undefined) throw new Error(`no record of line ${place.line}`);
  const changed = new Map([...stored.values, ...Object.entries(values)].filter(([, value]) => value !== ''));
  await writeStored(place, { ...stored, values: changed });
}

/** Puts a record in the place of another, with the index of its state. */
export async function writeStored({ redis, prefix, runId, line }: RecordPlace, stored: StoredPayout): Promise<void> {
  const keys = ledgerKeys(prefix);
  await redis
    .multi()
    .hset(keys.rows(runId, blockOf(line)), String(line), encode(stored))
    .setrange(keys.states(runId), line, STATE_LETTERS[stored.state])
    .exec();
}

/** Puts a payout into a state by force. */
export async function forceState(
  place: RecordPlace,
  { state, values = {} }: { state: RowState; values?: Readonly<Record<string, string>> },
): Promise<void> {
  await changeStored(place, values);
  const stored = await readStored(place);
  if (stored !== undefined) await writeStored(place, { ...stored, state });
}
