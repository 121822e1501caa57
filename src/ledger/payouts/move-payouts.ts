import type { Redis } from 'ioredis';
import { payoutId } from '../../payout.ts';
import { ledgerKeys } from '../keys.ts';
import { LedgerFault } from '../script.ts';
import type { MoveAnswer, PayoutMove } from './acts.ts';
import type { ChangeAnswer } from './commit.ts';
import { type Change, decideMove, type ReferenceHolders } from './decide-move.ts';
import { holdersBeside, readClaimants } from './duplicates.ts';
import type { KnownRecords } from './known-records.ts';
import type { StoredPayout } from './stored.ts';

/** How often a move is decided anew, because others wrote the record meanwhile. */
const ROUNDS_MAX = 100;

export interface MovePlace {
  readonly redis: Redis;
  readonly prefix: string;
}

/** Moves payouts, in their order: what comes after another move of the same payout is decided on what that made of it. */
export async function movePayouts(
  records: KnownRecords,
  place: MovePlace,
  moves: readonly PayoutMove[],
): Promise<MoveAnswer[]> {
  const answers: MoveAnswer[] = [];
  for (const wave of wavesOf(moves)) answers.push(...(await moveWave(records, place, wave)));
  const forbidden = answers.filter(({ result }) => result === 'forbidden').length;
  if (forbidden > 0) await place.redis.hincrby(ledgerKeys(place.prefix).head, 'refusedMoves', forbidden);
  return answers;
}

/** Moves that may be decided together: of different payouts, and none of what people saw of another one. */
function wavesOf(moves: readonly PayoutMove[]): PayoutMove[][] {
  const waves: PayoutMove[][] = [];
  let seen = new Set<string>();
  for (const move of moves) {
    const id = payoutId(move);
    if (waves.length === 0 || seen.has(id) || move.sawHolders !== undefined) {
      waves.push([]);
      seen = new Set();
    }
    seen.add(id);
    waves.at(-1)?.push(move);
  }
  return waves;
}

/** A move that is not answered yet. */
interface Asked {
  readonly move: PayoutMove;
  readonly index: number;
  readonly runIsCancelled: boolean;
  /** Whether its record has to be read before it is decided. */
  readonly isStale: boolean;
}

async function moveWave(
  records: KnownRecords,
  place: MovePlace,
  moves: readonly PayoutMove[],
): Promise<readonly MoveAnswer[]> {
  const answers: (MoveAnswer | undefined)[] = moves.map(() => undefined);
  const cancelled = await Promise.all(moves.map((move) => isRunCancelled(place, move)));
  let left: Asked[] = moves.map((move, index) => {
    return { move, index, runIsCancelled: cancelled[index] === true, isStale: records.get(move) === undefined };
  });
  for (let rounds = 0; left.length > 0; rounds++) {
    if (rounds > ROUNDS_MAX) throw new LedgerFault('a payout is moved by others again and again');
    const stale = left.filter(({ isStale }) => isStale);
    if (stale.length > 0) await records.read(stale.map(({ move }) => move));
    const round = await moveRound(records, place, left);
    for (const [index, answer] of round.answers) answers[index] = answer;
    left = round.again;
  }
  return answers.map((answer) => answer ?? moveAnswer('missing', undefined));
}

interface Round {
  /** By the index of the move. */
  readonly answers: ReadonlyMap<number, MoveAnswer>;
  /** What has to be decided anew. */
  readonly again: Asked[];
}

async function moveRound(records: KnownRecords, place: MovePlace, asked: readonly Asked[]): Promise<Round> {
  const answers = new Map<number, MoveAnswer>();
  const again: Asked[] = [];
  const written: { one: Asked; change: Change }[] = [];
  for (const one of asked) {
    const record = records.get(one.move);
    const holders = await holdersFor(place, one.move, record);
    const decision = decideMove(record, one.move, { runIsCancelled: one.runIsCancelled, holders });
    if (decision.kind === 'change') written.push({ one, change: decision.change });
    // Nothing is refused by what was remembered.
    else if (one.isStale) answers.set(one.index, moveAnswer(decision.result, record));
    else again.push({ ...one, isStale: true });
  }
  const changes = written.map(({ change }) => change);
  const done = await records.write(changes, { kind: 'move' });
  written.forEach(({ one, change }, position) => {
    const answer = done.answers[position];
    const [word] = answer?.words ?? [];
    if (word === 'again') again.push({ ...one, isStale: true });
    else if (word === 'run') again.push({ ...one, isStale: true, runIsCancelled: !one.runIsCancelled });
    else answers.set(one.index, writtenAnswer(change, answer));
  });
  return { answers, again };
}

function writtenAnswer(change: Change, answer: ChangeAnswer | undefined): MoveAnswer {
  if (answer?.text === undefined) return moveAnswer(refusedMove(answer?.words[0]), change.before);
  if (change.isThere === true) return moveAnswer('there', change.after);
  return { ...moveAnswer('moved', change.after), badOutcomes: answer.number };
}

async function isRunCancelled({ redis, prefix }: MovePlace, { runId, cancelledIfRunIs }: PayoutMove): Promise<boolean> {
  return cancelledIfRunIs === true && (await redis.hget(ledgerKeys(prefix).run(runId), 'state')) === 'cancelled';
}

/** Which others have the reference of a payout that people allow; undefined where nobody asks. */
async function holdersFor(
  { redis, prefix }: MovePlace,
  move: PayoutMove,
  record: StoredPayout | undefined,
): Promise<ReferenceHolders | undefined> {
  const hash = record?.values.get('rfh');
  if (move.sawHolders === undefined || hash === undefined) return undefined;
  const claims = await readClaimants({ redis, prefix }, hash);
  const others = await holdersBeside({ redis, prefix }, claims, payoutId(move));
  return { claimants: claims[0], others };
}

const REFUSALS = ['changed', 'forbidden', 'season', 'payment-taken', 'shared'] as const;

function refusedMove(word: unknown): (typeof REFUSALS)[number] {
  const refusal = REFUSALS.find((one) => one === word);
  if (refusal === undefined) throw new LedgerFault('the commit gave an unknown answer');
  return refusal;
}

function moveAnswer(result: MoveAnswer['result'], record: StoredPayout | undefined): MoveAnswer {
  return { result, version: record?.version ?? 0, state: record?.state ?? '', badOutcomes: 0 };
}
