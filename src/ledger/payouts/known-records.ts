import type { Redis } from 'ioredis';
import { type PayoutPlace, payoutId } from '../../payout.ts';
import { type Commit, type Committed, openCommit } from './commit.ts';
import type { Change } from './decide-move.ts';
import { openReading, type RecordReading } from './reading.ts';
import { decode, type StoredPayout } from './stored.ts';

/** Records that a process remembers as it saw them last; whoever acts on one that is older reads it anew. */
const REMEMBERED_MAX = 20_000;

/** The records of payouts as this process saw them last, so that a step needs no reading before it writes. */
export interface KnownRecords {
  get(place: PayoutPlace): StoredPayout | undefined;
  /** Redis's time when it was asked last. */
  readonly lastNow: () => number;
  /** The highest arming counter that was ever seen. */
  readonly highestCounter: () => number;
  sawCounter(counter: number): void;
  read(places: readonly PayoutPlace[], through?: Redis): Promise<RecordReading>;
  /** Carries out changes; what was written is remembered, and what was not is read anew by whoever acts on it. */
  write(changes: readonly Change[], header: Commit, through?: Redis): Promise<Committed>;
}

/** `redis` is what reads and writes go through, unless told otherwise. */
export function openKnownRecords(redis: Redis, prefix: string): KnownRecords {
  const commit = openCommit(prefix);
  /** One that was written here is kept as its text until somebody asks for it: most are written once more at the most. */
  const known = new Map<string, StoredPayout | string>();
  let highestCounter = 0;
  let lastNow = 0;

  function remember(place: PayoutPlace, record: StoredPayout | string | undefined): void {
    const id = payoutId(place);
    known.delete(id);
    if (record !== undefined) known.set(id, record);
    if (known.size > REMEMBERED_MAX) known.delete(known.keys().next().value ?? '');
  }

  function sawCounter(counter: number): void {
    highestCounter = Math.max(highestCounter, counter);
  }

  return {
    get(place) {
      const record = known.get(payoutId(place));
      if (typeof record !== 'string') return record;
      const decoded = decode(record);
      known.set(payoutId(place), decoded);
      return decoded;
    },
    lastNow: () => lastNow,
    highestCounter: () => highestCounter,
    sawCounter,
    async read(places, through = redis) {
      const reading = await openReading(through, prefix)(places);
      sawCounter(reading.armings);
      lastNow = reading.now;
      places.forEach((place, index) => {
        const record = reading.records[index];
        remember(place, record instanceof Error ? undefined : record);
      });
      return reading;
    },
    async write(changes, header, through = redis) {
      try {
        const done = await commit(through, changes, header);
        changes.forEach((change, index) => remember(change, done.answers[index]?.text));
        return done;
      } catch (error) {
        for (const change of changes) known.delete(payoutId(change));
        throw error;
      }
    },
  };
}
