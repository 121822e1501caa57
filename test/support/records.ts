import type { Redis } from 'ioredis';
import { blockOf, ledgerKeys } from '../../src/ledger/keys.ts';
import { decode, encode, type RowState, STATE_LETTERS, type StoredPayout } from '../../src/ledger/payouts/stored.ts';
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
  const changed = new Map([...stored.values, ...Object.entries(values)]);
  for (const [name, value] of Object.entries(values)) if (value === '') changed.delete(name);
  await writeStored(place, { ...stored, values: changed });
}

/** Puts a record in the place of another, with the index of its state. */
async function writeStored({ redis, prefix, runId, line }: RecordPlace, stored: StoredPayout): Promise<void> {
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

/** Makes a payout that waits for a time wait for another one; the version stays. */
export async function setDue(place: RecordPlace, at: number): Promise<void> {
  const stored = await readStored(place);
  if (stored === undefined || stored.due === 0) return;
  await writeStored(place, { ...stored, due: at });
  const keys = ledgerKeys(place.prefix);
  const block = `${place.runId}:${blockOf(place.line)}`;
  await place.redis.zadd(stored.state === 'accepted' ? keys.tracked : keys.due, 'LT', at, block);
}

/** When a payout wants something, in milliseconds since 1970; null: never. */
export async function dueOf(place: RecordPlace): Promise<number | null> {
  const due = (await readStored(place))?.due;
  return typeof due === 'number' && due > 0 ? due : null;
}

/** Makes the steps of the history up to this one as if they had been made longer ago; later ones stay. */
export async function ageStep(place: RecordPlace, { step, ms }: { step: number; ms: number }): Promise<void> {
  const stored = await readStored(place);
  if (stored === undefined) throw new Error(`no record of line ${place.line}`);
  const history = stored.history.map(([letter, at, ...rest], index): StoredPayout['history'][number] => {
    const moved = index === 0 ? at - ms : index === step + 1 ? at + ms : at;
    return [letter, moved, ...rest];
  });
  await writeStored(place, { ...stored, history });
}

/** The text of a record, to be put back as it was. */
export async function textOfRecord({ redis, prefix, runId, line }: RecordPlace): Promise<string> {
  return (await redis.hget(ledgerKeys(prefix).rows(runId, blockOf(line)), String(line))) ?? '';
}

export async function putBack({ redis, prefix, runId, line }: RecordPlace, text: string): Promise<void> {
  await redis.hset(ledgerKeys(prefix).rows(runId, blockOf(line)), String(line), text);
}
