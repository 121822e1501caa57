import type { Redis } from 'ioredis';
import { LIMITS } from '../../config/limits.ts';
import { type PayoutPlace, payoutId, placeOfId } from '../../payout.ts';
import { openBatch } from '../batch.ts';
import { blockOf, ledgerKeys, quotesKey, referencesKey, UNSENT } from '../keys.ts';
import { LedgerFault, textOf } from '../script.ts';
import type { Seals } from '../seals.ts';
import { SCHEMA_VERSION } from '../season/refuse-ledger.ts';
import type { ArmAnswer, Arming, Deferred, MoveAnswer, PayoutMove, PayoutReading } from './acts.ts';
import { ARM_REFUSALS } from './acts.ts';
import { type Commit, type Committed, openCommit } from './commit.ts';
import { decideArming } from './decide-arming.ts';
import { type Change, decideMove, type MoveContext, type ReferenceHolder } from './decide-move.ts';
import { openReading, type RecordReading } from './reading.ts';
import { readRecord } from './record.ts';
import type { StoredPayout } from './stored.ts';

const ITEMS_PER_CALL_MAX = 500;
const REPLICA_ACKNOWLEDGES_MS_MAX = 1000;
/** Records that a process remembers as it saw them last; whoever acts on one that is older reads it anew. */
const REMEMBERED_MAX = 20_000;
/** How often a move is decided anew, because others wrote the record meanwhile. */
const ROUNDS_MAX = 100;

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
  /** Puts off a payout that stays ready; undefined if it is not ready any more. */
  defer(place: PayoutPlace, options: { ms: number; quoteFailed: boolean }): Promise<Deferred | undefined>;
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
  const commit = openCommit(prefix);
  const readRecords = openReading(redis, prefix);
  const readToArm = openReading(arming, prefix);
  const known = new Map<string, StoredPayout>();

  let server = '';
  let highestCounter = 0;
  /** Redis's time when it was asked last. */
  let lastNow = 0;
  const sawCounter = (counter: number): void => {
    highestCounter = Math.max(highestCounter, counter);
  };

  function remember(id: string, record: StoredPayout | undefined): void {
    known.delete(id);
    if (record !== undefined) known.set(id, record);
    if (known.size > REMEMBERED_MAX) known.delete(known.keys().next().value ?? '');
  }

  async function recordsOf(places: readonly PayoutPlace[], read = readRecords): Promise<RecordReading> {
    const reading = await read(places);
    sawCounter(reading.armings);
    lastNow = reading.now;
    places.forEach((place, index) => {
      const record = reading.records[index];
      remember(payoutId(place), record instanceof Error ? undefined : record);
    });
    return reading;
  }

  async function readAll(places: readonly PayoutPlace[]): Promise<(PayoutReading | Error)[]> {
    const { records, waitMs, halt, disproved, now } = await recordsOf(places);
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

  /** Carries out changes; what was written is remembered, and what was not is read anew by whoever acts on it. */
  async function carryOut(changes: readonly Change[], header: Commit): Promise<Committed> {
    try {
      const done = await commit(header.kind === 'arm' ? arming : redis, changes, header);
      changes.forEach(({ runId, line }, index) => remember(payoutId({ runId, line }), done.answers[index]?.record));
      return done;
    } catch (error) {
      for (const { runId, line } of changes) known.delete(payoutId({ runId, line }));
      throw error;
    }
  }

  async function armAll(armings: readonly Arming[]): Promise<ArmAnswer[]> {
    const unknown = armings.filter((one) => known.get(payoutId(one))?.version !== one.version);
    if (unknown.length > 0) await recordsOf(unknown, readToArm);
    const changes = armings.map((one) => decideArming(known.get(payoutId(one)), one, lastNow));
    const asked = server;
    const header = { kind: 'arm', dataDirId, schema: SCHEMA_VERSION, highestCounter, server: asked, lease } as const;
    const done = await carryOut(changes, header);
    // It asks anew who the primary is, unless that was learned meanwhile: others may be arming there.
    if (done.isElsewhere && asked === server) arming.disconnect(true);
    else if (done.replicas > 0) {
      const acknowledged = await arming.wait(1, REPLICA_ACKNOWLEDGES_MS_MAX);
      if (acknowledged < 1) return armings.map(() => ({ armed: false, refusal: 'not-replicated' }));
    }
    return done.answers.map((answer) => {
      if (answer.record === undefined) return armRefusal(answer.words);
      sawCounter(answer.number);
      return { armed: true, version: answer.record.version, counter: answer.number, armedAt: done.at };
    });
  }

  /** In their order: what comes after another move of the same payout is decided on what that made of it. */
  async function moveAll(moves: readonly PayoutMove[]): Promise<MoveAnswer[]> {
    const answers: MoveAnswer[] = [];
    for (const wave of wavesOf(moves)) answers.push(...(await moveWave(wave)));
    return answers;
  }

  /** Moves of as many payouts. */
  async function moveWave(moves: readonly PayoutMove[]): Promise<MoveAnswer[]> {
    const answers = new Map<number, MoveAnswer>();
    const cancelled = await Promise.all(moves.map(isRunCancelled));
    let left = moves.map((move, index) => ({ move, index, runIsCancelled: cancelled[index] === true, isFresh: false }));
    for (let round = 0; left.length > 0; round++) {
      if (round > ROUNDS_MAX) throw new LedgerFault('a payout is moved by others again and again');
      const stale = left.filter(({ move, isFresh }) => isFresh || !known.has(payoutId(move)));
      if (stale.length > 0) await recordsOf(stale.map(({ move }) => move));
      const holders = await holdersFor(left.map(({ move }) => move));
      const again: typeof left = [];
      const asked: { one: (typeof left)[number]; change: Change }[] = [];
      left.forEach((one, position) => {
        const context: MoveContext = { runIsCancelled: one.runIsCancelled, holder: holders[position] };
        const record = known.get(payoutId(one.move));
        const decision = decideMove(record, one.move, context);
        if (decision.kind === 'change') asked.push({ one, change: decision.change });
        // Nothing is refused by what was remembered.
        else if (!stale.includes(one)) again.push({ ...one, isFresh: true });
        else answers.set(one.index, moveAnswer(decision.result, record));
      });
      const done = await carryOut(
        asked.map(({ change }) => change),
        { kind: 'move' },
      );
      asked.forEach(({ one, change }, position) => {
        const answer = done.answers[position];
        const [word] = answer?.words ?? [];
        if (answer?.record !== undefined) {
          const bad = change.isThere === true ? 0 : answer.number;
          answers.set(one.index, {
            ...moveAnswer(change.isThere === true ? 'there' : 'moved', answer.record),
            badOutcomes: bad,
          });
        } else if (word === 'again') again.push({ ...one, isFresh: true });
        else if (word === 'run') again.push({ ...one, isFresh: true, runIsCancelled: !one.runIsCancelled });
        else answers.set(one.index, moveAnswer(refusedMove(word), change.before));
      });
      left = again;
    }
    const forbidden = [...answers.values()].filter(({ result }) => result === 'forbidden').length;
    if (forbidden > 0) await redis.hincrby(ledgerKeys(prefix).head, 'refusedMoves', forbidden);
    return moves.map((_move, index) => answers.get(index) ?? moveAnswer('missing', undefined));
  }

  async function isRunCancelled({ runId, cancelledIfRunIs }: PayoutMove): Promise<boolean> {
    return cancelledIfRunIs === true && (await redis.hget(ledgerKeys(prefix).run(runId), 'state')) === 'cancelled';
  }

  /** Who has the references of payouts that people allow. */
  async function holdersFor(moves: readonly PayoutMove[]): Promise<(ReferenceHolder | undefined)[]> {
    return await Promise.all(
      moves.map(async (move) => {
        const hash = known.get(payoutId(move))?.values.get('rfh');
        if (move.sawHolder === undefined || hash === undefined) return undefined;
        const id = (await redis.hget(referencesKey(prefix, hash), hash)) ?? '';
        if (id === '' || id === payoutId(move)) return { id: '', block: 0, line: 0, record: undefined };
        const place = placeOfId(id);
        const [record] = (await readRecords([place])).records;
        if (record instanceof Error) throw record;
        return { id, block: blockOf(place.line), line: place.line, record };
      }),
    );
  }

  const move = openBatch(ITEMS_PER_CALL_MAX, moveAll);

  return {
    sawServer(seen) {
      server = seen;
    },
    sawCounter,
    highestCounter: () => highestCounter,
    read: openBatch(ITEMS_PER_CALL_MAX, readAll),
    arm: openBatch(ITEMS_PER_CALL_MAX, armAll),
    move,
    async holderOf(id) {
      const holder = await redis.hget(quotesKey(prefix, id), id);
      return holder === null || holder === UNSENT ? undefined : holder;
    },
    async defer({ runId, line }, { ms, quoteFailed }) {
      const place = { runId, line };
      for (let round = 0; round < ROUNDS_MAX; round++) {
        if (round > 0 || !known.has(payoutId(place))) await recordsOf([place]);
        const record = known.get(payoutId(place));
        const failures = Number.parseInt(record?.values.get('qf') ?? '0', 10) + (quoteFailed ? 1 : 0);
        if (record === undefined || record.state !== 'ready') {
          if (round > 0 || record === undefined) return undefined;
          continue;
        }
        const note = {
          ...place,
          from: 'ready',
          dueMs: ms,
          actor: '',
          reason: '',
          fields: { qf: String(failures) },
        } as const;
        const { result, version } = await move({ ...note, version: record.version });
        if (result === 'moved') return { failures, version };
      }
      throw new LedgerFault('a payout is moved by others again and again');
    },
  };
}

/** Moves that may be decided together: of different payouts, and none of what people saw of another one. */
function wavesOf(moves: readonly PayoutMove[]): PayoutMove[][] {
  const waves: PayoutMove[][] = [];
  let seen = new Set<string>();
  for (const move of moves) {
    const id = payoutId(move);
    if (waves.length === 0 || seen.has(id) || move.sawHolder !== undefined) {
      waves.push([]);
      seen = new Set();
    }
    seen.add(id);
    waves.at(-1)?.push(move);
  }
  return waves;
}

function armRefusal(words: readonly unknown[]): ArmAnswer {
  const [word, about, currency] = words;
  if (word === 'approval' || word === 'blocked') return { armed: false, refusal: word };
  if (word === 'reference') return { armed: false, refusal: 'reference', holder: textOf(about) };
  if (word === 'limit') {
    const which = [...LIMITS, 'amount' as const].find((one) => one === about);
    if (which !== undefined) return { armed: false, refusal: 'limit', limit: { which, currency: textOf(currency) } };
  }
  const refusal = ARM_REFUSALS.find((one) => one === (word === 'again' ? 'changed' : word));
  if (refusal === undefined) throw new LedgerFault('the commit gave an unknown answer');
  return { armed: false, refusal };
}

function refusedMove(word: unknown): 'changed' | 'forbidden' | 'season' | 'payment-taken' {
  if (word === 'changed' || word === 'forbidden' || word === 'season' || word === 'payment-taken') return word;
  throw new LedgerFault('the commit gave an unknown answer');
}

function moveAnswer(result: MoveAnswer['result'], record: StoredPayout | undefined): MoveAnswer {
  return { result, version: record?.version ?? 0, state: record?.state ?? '', badOutcomes: 0 };
}
