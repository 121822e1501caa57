import type { Redis } from 'ioredis';
import type { PayoutPlace } from '../../payout.ts';
import { openBatch } from '../batch.ts';
import { knownPaymentsKey, quotesKey, UNSENT } from '../keys.ts';
import { LedgerFault } from '../script.ts';
import type { Seals } from '../seals.ts';
import type { ArmAnswer, Arming, Deferred, MoveAnswer, PayoutMove, PayoutReading } from './acts.ts';
import { armPayouts } from './arm-payouts.ts';
import { type KnownRecords, openKnownRecords } from './known-records.ts';
import { movePayouts } from './move-payouts.ts';
import { readRecord } from './record.ts';

const ITEMS_PER_CALL_MAX = 500;
const DEFERRALS_MAX = 100;

export interface Payouts {
  /** Learns to which server commands lead now: no other one arms for this process (architecture.md, rule 4). */
  sawServer(server: string): void;
  /** Learns of an arming: a Redis that knows of fewer has gone back in time, and nothing is armed on it. */
  sawCounter(counter: number): void;
  /** The highest arming counter that this process ever saw. */
  readonly highestCounter: () => number;
  read(place: PayoutPlace): Promise<PayoutReading>;
  /** Arms the payout, or says why not. An error means that nobody knows: the caller must not send (rule 2). */
  arm(arming: Arming): Promise<ArmAnswer>;
  move(move: PayoutMove): Promise<MoveAnswer>;
  /** The id of the payout to which a quote or a payment belongs. */
  holderOf(quoteOrPaymentId: string): Promise<string | undefined>;
  /** Ids of the latest payments under these credentials (their fingerprint): none where there was none, '' for one that was purged. */
  knownPayments(credentials: string): Promise<readonly string[]>;
  /** Puts off a payout that stays ready; undefined if it is not ready any more. */
  defer(place: PayoutPlace, options: { ms: number; quoteFailed: boolean }): Promise<Deferred | undefined>;
}

interface PayoutsPlace {
  readonly prefix: string;
  readonly dataDirId: string;
  readonly lease?: string;
  readonly safety?: string;
  readonly seals: Pick<Seals, 'judgeProposal'>;
}

/**
 * The payouts of the ledger. Reads, armings and moves of one turn of the event loop are one call each. `arming` is a
 * connection that never queues and never sends a command again.
 */
export function openPayouts(
  { redis, arming }: { redis: Redis; arming: Redis },
  { prefix, dataDirId, lease = '', safety = '', seals }: PayoutsPlace,
): Payouts {
  const records = openKnownRecords(redis, prefix);
  let server = '';
  const armingPlace = { arming, dataDirId, lease, safety, server: () => server };
  const arm = (armings: readonly Arming[]) => armPayouts(records, armingPlace, armings);
  // One after the other: moves of a payout are made in the order in which they were asked for.
  let before: Promise<unknown> = Promise.resolve();
  const move = openBatch<PayoutMove, MoveAnswer>(ITEMS_PER_CALL_MAX, (moves) => {
    const moved = before.then(() => movePayouts(records, { redis, prefix }, moves));
    before = moved.catch(() => {});
    return moved;
  });
  return {
    sawServer(seen) {
      server = seen;
    },
    sawCounter: (counter) => records.sawCounter(counter),
    highestCounter: records.highestCounter,
    read: openBatch<PayoutPlace, PayoutReading>(ITEMS_PER_CALL_MAX, (places) => readPayouts(records, seals, places)),
    arm: openBatch<Arming, ArmAnswer>(ITEMS_PER_CALL_MAX, arm),
    move,
    async holderOf(id) {
      const holder = await redis.hget(quotesKey(prefix, id), id);
      return holder === null || holder === UNSENT ? undefined : holder;
    },
    knownPayments: (credentials) => redis.lrange(knownPaymentsKey(prefix, credentials), 0, -1),
    defer: (place, options) => deferPayout(records, move, { ...options, runId: place.runId, line: place.line }),
  };
}

async function readPayouts(
  known: KnownRecords,
  seals: Pick<Seals, 'judgeProposal'>,
  places: readonly PayoutPlace[],
): Promise<(PayoutReading | Error)[]> {
  const { records, waitMs, halt, disproved, now } = await known.read(places);
  return places.map((place, index) => {
    try {
      const stored = records[index];
      if (stored instanceof Error) return stored;
      const record = readRecord(stored, { runId: place.runId, line: place.line }, seals);
      const payout = record !== undefined && 'row' in record ? record : undefined;
      return { waitMs, halt, disproved, now, payout };
    } catch (error) {
      return error instanceof Error ? error : new LedgerFault('a record cannot be read');
    }
  });
}

/** Puts off a payout that stays ready, and counts the quotes of it that failed in a row. */
async function deferPayout(
  records: KnownRecords,
  move: (move: PayoutMove) => Promise<MoveAnswer>,
  { ms, quoteFailed, ...place }: PayoutPlace & { readonly ms: number; readonly quoteFailed: boolean },
): Promise<Deferred | undefined> {
  for (let round = 0; round < DEFERRALS_MAX; round++) {
    if (round > 0 || records.get(place)?.state !== 'ready') await records.read([place]);
    const record = records.get(place);
    if (record?.state !== 'ready') return undefined;
    const failures = Number.parseInt(record.values.get('qf') ?? '0', 10) + (quoteFailed ? 1 : 0);
    const { version } = record;
    const note = { ...place, version, dueMs: ms, actor: '', reason: '', values: { quoteFailures: failures } } as const;
    const answer = await move(note);
    if (answer.result === 'moved') return { failures, version: answer.version };
  }
  throw new LedgerFault('a payout is moved by others again and again');
}
