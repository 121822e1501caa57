import type { Redis } from 'ioredis';
import { LIMITS, type Limit } from '../config/limits.ts';
import type { DropReason, Payout, PayoutPlace, PayoutState } from '../payout.ts';
import { openBatch } from './batch.ts';
import { quotesKey, UNSENT } from './keys.ts';
import { readRecord } from './record.ts';
import { integerOf, LedgerFault, listOf, recordsOf, runScript, script, textOf } from './script.ts';
import { ARM } from './scripts/arm.ts';
import { DEFER } from './scripts/feed.ts';
import { MOVE } from './scripts/move.ts';
import { READ } from './scripts/read.ts';
import type { Seals } from './seals.ts';
import { SCHEMA_VERSION } from './season/refuse-ledger.ts';

const ITEMS_PER_CALL_MAX = 500;
const REPLICA_ACKNOWLEDGES_MS_MAX = 1000;

/** A payout, and what stood beside it in the ledger at the moment of reading. */
export interface PayoutReading {
  readonly payout: Payout | undefined;
  /** Milliseconds that the service asked everybody to wait. */
  readonly waitMs: number;
  readonly halt: string | null;
  /** Capabilities that were seen not to hold. */
  readonly disproved: readonly string[];
  /** Redis's time, milliseconds since 1970. */
  readonly now: number;
}

export interface Arming extends PayoutPlace {
  readonly version: number;
  /** Of the row as the caller read it. */
  readonly rowSeal: string;
  /** Of the folded reference: it is armed only while that is its own. */
  readonly referenceHash: string;
  readonly quoteId: string;
  readonly quoteExpiresAt: number | null;
  readonly owner: string;
  readonly credentials: string;
  /** When the sweeper looks at the payout if nobody settles it, in milliseconds from now. */
  readonly dueMs: number;
  /** What the service calls the exchange that gave the quote. */
  readonly exchange: string;
  /** Further fields of the record (record.ts). */
  readonly fields: Readonly<Record<string, string>>;
  /** Digest of what people must have approved; null where no approval is needed. */
  readonly approval?: string | null;
  /** The version and seal of the block list that the caller verified. */
  readonly blockList?: string;
  /** What must not be passed by its amount; null where nobody set limits. */
  readonly limits?: ArmingLimits | null;
}

/** What a payout counts as in one currency. */
export interface LimitedSum {
  readonly currency: string;
  /** Null where the quote does not say it: then it is beyond its limits. Of the payout's own currency the record's counts. */
  readonly minor: bigint | null;
  /** The most that may be armed, in minor units; absent: any amount. */
  readonly most: Readonly<Partial<Record<Limit, bigint>>>;
}

export interface ArmingLimits {
  /** At most one for each currency. */
  readonly sums: readonly LimitedSum[];
  /** 16 hexadecimal digits. */
  readonly beneficiaryHash: string;
  /** By how much the days of the limits begin before those of UTC. */
  readonly dayOffsetMs: number;
}

/** A limit that a payout would pass; `amount`: what it comes to in the currency is not known. */
export interface BrokenLimit {
  readonly which: Limit | 'amount';
  readonly currency: string;
}

/** Why a payout was not armed. */
export const ARM_REFUSALS = [
  'season',
  'newer',
  'halted',
  'wait',
  'run',
  'changed',
  'row',
  'armings',
  'quotes',
  'quote-taken',
  'block-list',
  'not-replicated',
] as const;
export type ArmRefusal = (typeof ARM_REFUSALS)[number];

export type ArmAnswer =
  | { readonly armed: true; readonly version: number; readonly counter: number; readonly armedAt: number }
  | { readonly armed: false; readonly refusal: ArmRefusal }
  | { readonly armed: false; readonly refusal: 'approval' | 'blocked' }
  /** The payout of this id has its reference. */
  | { readonly armed: false; readonly refusal: 'reference'; readonly holder: string }
  | { readonly armed: false; readonly refusal: 'limit'; readonly limit: BrokenLimit };

/** One move of a payout, or a note about it when `to` is left out. */
export interface PayoutMove extends PayoutPlace {
  readonly to?: PayoutState;
  /** The version that the decision was made on. A fact (architecture.md, rule 7) leaves it out. */
  readonly version?: number;
  /** The state that the payout must have: a fact needs none. */
  readonly from?: PayoutState;
  /** The quote that the payout must have. */
  readonly quoteId?: string;
  readonly breach?: boolean;
  readonly cancelledIfRunIs?: boolean;
  readonly dropQuote?: DropReason;
  /** When it is due next, in milliseconds from now; left out: not due; `as-it-is`: a note leaves it alone. */
  readonly dueMs?: number | 'as-it-is';
  /** What people saw to have the reference of a payout that they allow; `id` is '' where nobody else had it. */
  readonly sawHolder?: { readonly id: string; readonly state: string };
  /** A quote that a breach shows to be spent, for a payout that has none any more. */
  readonly spentQuoteId?: string;
  readonly actor: string;
  readonly reason: string;
  /** What the service calls the exchange that the move follows from. */
  readonly exchange?: string;
  /** How many of the run's last outcomes are remembered, when this move tells one. */
  readonly outcomesRemembered?: number;
  readonly fields?: Readonly<Record<string, string>>;
  readonly without?: readonly string[];
}

export const MOVE_RESULTS = [
  'moved',
  'there',
  'changed',
  'other-quote',
  'payment-taken',
  'forbidden',
  'missing',
  /** In a closed season a payout does not come to an end that frees its reference. */
  'season',
] as const;
export type MoveResult = (typeof MOVE_RESULTS)[number];

export interface MoveAnswer {
  readonly result: MoveResult;
  readonly version: number;
  readonly state: string;
  /** After a move that tells what came of a payment: unknown and refused ones among the run's last outcomes; else 0. */
  readonly badOutcomes: number;
}

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
  /** Puts off a payout that stays ready; gives the quote failures in a row, undefined if it is not ready any more. */
  defer(place: PayoutPlace, options: { ms: number; quoteFailed: boolean }): Promise<number | undefined>;
}

interface PayoutsPlace {
  readonly prefix: string;
  readonly dataDirId: string;
  readonly lease?: string;
  readonly seals: Pick<Seals, 'judgeProposal'>;
}

/**
 * The payouts of the ledger. Reads, armings and moves of one turn of the event loop are one call each. `arming` is a
 * connection that never queues and never sends a command again.
 */
export function openPayouts(
  connections: { redis: Redis; arming: Redis },
  { prefix, dataDirId, lease = '', seals }: PayoutsPlace,
): Payouts {
  const { redis, arming } = connections;
  const scripts = { arm: script(ARM), move: script(MOVE), read: script(READ), defer: script(DEFER) };

  let server = '';
  let highestCounter = 0;
  const sawCounter = (counter: number): void => {
    highestCounter = Math.max(highestCounter, counter);
  };

  async function readAll(places: readonly PayoutPlace[]): Promise<(PayoutReading | Error)[]> {
    const args = places.flatMap(({ runId, line }) => [runId, line]);
    const reply = listOf(await runScript(redis, scripts.read, { prefix, args }));
    const [wait, halt, disproved, now, records, armings] = reply;
    sawCounter(integerOf(armings));
    const beside = {
      waitMs: integerOf(wait),
      halt: textOf(halt) === '' ? null : textOf(halt),
      disproved: textOf(disproved).split(',').filter(Boolean),
      now: integerOf(now),
    };
    const replies = recordsOf(records);
    return places.map((place, index) => {
      try {
        const record = readRecord(replies[index], { runId: place.runId, line: place.line }, seals);
        return { ...beside, payout: record !== undefined && 'row' in record ? record : undefined };
      } catch (error) {
        return error instanceof Error ? error : new LedgerFault('a record cannot be read');
      }
    });
  }

  async function armAll(armings: readonly Arming[]): Promise<ArmAnswer[]> {
    const json = JSON.stringify(armings.map(armArgument));
    const asked = server;
    const args = [json, dataDirId, SCHEMA_VERSION, highestCounter, asked, lease];
    const [replicas, answers, isElsewhere] = listOf(await runScript(arming, scripts.arm, { prefix, args }));
    // It asks anew who the primary is, unless that was learned meanwhile: others may be arming there.
    if (integerOf(isElsewhere) === 1 && asked === server) arming.disconnect(true);
    else if (integerOf(replicas) > 0) {
      const acknowledged = await arming.wait(1, REPLICA_ACKNOWLEDGES_MS_MAX);
      if (acknowledged < 1) return armings.map(() => ({ armed: false, refusal: 'not-replicated' }));
    }
    const armed = listOf(answers).map(armAnswer);
    for (const answer of armed) if (answer.armed) sawCounter(answer.counter);
    return armed;
  }

  async function moveAll(moves: readonly PayoutMove[]): Promise<MoveAnswer[]> {
    const json = JSON.stringify(moves.map(moveArgument));
    return listOf(await runScript(redis, scripts.move, { prefix, args: [json] })).map(moveAnswer);
  }

  return {
    sawServer(seen) {
      server = seen;
    },
    sawCounter,
    highestCounter: () => highestCounter,
    read: openBatch(ITEMS_PER_CALL_MAX, readAll),
    arm: openBatch(ITEMS_PER_CALL_MAX, armAll),
    move: openBatch(ITEMS_PER_CALL_MAX, moveAll),
    async holderOf(id) {
      const holder = await redis.hget(quotesKey(prefix, id), id);
      return holder === null || holder === UNSENT ? undefined : holder;
    },
    async defer({ runId, line }, { ms, quoteFailed }) {
      const args = [runId, line, Math.ceil(ms), quoteFailed ? '1' : '0'];
      const reply = await runScript(redis, scripts.defer, { prefix, args });
      return reply === '' ? undefined : integerOf(reply);
    },
  };
}

function armArgument(arming: Arming): Record<string, unknown> {
  return {
    r: arming.runId,
    l: String(arming.line),
    v: arming.version,
    h: arming.rowSeal,
    rf: arming.referenceHash,
    q: arming.quoteId,
    x: arming.quoteExpiresAt === null ? '' : String(arming.quoteExpiresAt),
    o: arming.owner,
    c: arming.credentials,
    e: Math.ceil(arming.dueMs),
    y: arming.exchange,
    f: arming.fields,
    ap: arming.approval ?? undefined,
    bl: arming.blockList,
    m: limitsArgument(arming.limits ?? null),
  };
}

function limitsArgument(limits: ArmingLimits | null): Record<string, unknown> | undefined {
  if (limits === null) return undefined;
  const { sums, beneficiaryHash, dayOffsetMs } = limits;
  const s = sums.map(({ currency, minor, most }) => ({
    c: currency,
    a: minor?.toString(),
    p: most.payout?.toString(),
    r: most.run?.toString(),
    d: most.day?.toString(),
    n: most.beneficiary?.toString(),
  }));
  return { o: dayOffsetMs, b: beneficiaryHash, s };
}

function armAnswer(reply: unknown): ArmAnswer {
  const [result, version, counter, armedAt] = listOf(reply);
  if (result === 'armed') {
    return { armed: true, version: integerOf(version), counter: integerOf(counter), armedAt: integerOf(armedAt) };
  }
  if (result === 'approval' || result === 'blocked') return { armed: false, refusal: result };
  if (result === 'reference') return { armed: false, refusal: 'reference', holder: textOf(version) };
  if (result === 'limit') {
    const which = [...LIMITS, 'amount' as const].find((known) => known === version);
    if (which !== undefined) return { armed: false, refusal: 'limit', limit: { which, currency: textOf(counter) } };
  }
  const refusal = ARM_REFUSALS.find((known) => known === result);
  if (refusal === undefined) throw new LedgerFault('the arming script gave an unknown answer');
  return { armed: false, refusal };
}

function moveArgument(move: PayoutMove): Record<string, unknown> {
  return {
    r: move.runId,
    l: String(move.line),
    v: move.version,
    fr: move.from,
    q: move.quoteId,
    t: move.to,
    b: move.breach,
    k: move.cancelledIfRunIs,
    w: move.dropQuote,
    e: typeof move.dueMs === 'number' ? Math.ceil(move.dueMs) : undefined,
    o: move.dueMs === 'as-it-is' ? true : undefined,
    ho: move.sawHolder === undefined ? undefined : { i: move.sawHolder.id, s: move.sawHolder.state },
    q2: move.spentQuoteId,
    a: move.actor,
    y: move.reason,
    g: move.exchange,
    n: move.outcomesRemembered,
    f: move.fields,
    x: move.without,
  };
}

function moveAnswer(reply: unknown): MoveAnswer {
  const [word, version, state, bad] = listOf(reply);
  const result = MOVE_RESULTS.find((known) => known === word);
  if (result === undefined) throw new LedgerFault('the move script gave an unknown answer');
  return {
    result,
    version: integerOf(version),
    state: textOf(state),
    badOutcomes: bad === undefined ? 0 : integerOf(bad),
  };
}
