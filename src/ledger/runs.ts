import type { Redis } from 'ioredis';
import type { Money } from '../money.ts';
import { formatAmount, moneyOfDecimal } from '../money.ts';
import {
  OUTCOMES,
  type Outcome,
  PAYOUT_STATES,
  type Payout,
  type PayoutState,
  type RefusedRow,
  RUN_STATES,
  type Run,
  type RunState,
} from '../payout.ts';
import type { LedgerKeys } from './keys.ts';
import { readRecord } from './record.ts';
import { integerOf, LedgerFault, listOf, runScript, script, textsOf } from './script.ts';
import { READ } from './scripts/read.ts';
import { RECORD } from './scripts/record.ts';
import { CLAIM_RUN, MOVE_RUN, TAKE_WATCH } from './scripts/runs.ts';

const INDEX_BYTES_PER_CALL = 4096;
const RECORDS_PER_CALL = 500;

/** What a run is claimed with. */
export interface RunClaim {
  readonly id: string;
  readonly fileName: string;
  readonly fileSha256: string;
  readonly contentHash: string;
  readonly rows: number;
  readonly fileTotals: readonly Money[];
  readonly createdBy: string;
}

/** A row to be recorded: the record's fields (record.ts), its state, and what it adds to the counters. */
export interface RowRecord {
  readonly line: number;
  readonly state: 'ready' | 'refused';
  readonly fields: Readonly<Record<string, string>>;
  readonly amount: Money | null;
  /** Hash of the folded reference in hexadecimal; null for a refused row. */
  readonly referenceHash: string | null;
}

export interface RunEvent {
  readonly at: number;
  readonly event: string;
  readonly actor: string;
  readonly reason: string;
}

export interface RunMoveAnswer {
  readonly result: 'moved' | 'there' | 'forbidden' | 'missing' | 'open' | 'halted' | 'season' | 'incomplete';
  readonly state: string;
}

export interface Runs {
  claim(claim: RunClaim): Promise<{ id: string; result: 'new' | 'known' | 'taken' | 'season' }>;
  record(runId: string, rows: readonly RowRecord[], rememberMs: number): Promise<'recorded' | 'closed' | 'season'>;
  /** `from`: the state that the run must have. */
  move(runId: string, move: { to: RunState; actor: string; reason: string; from?: RunState }): Promise<RunMoveAnswer>;
  read(runId: string): Promise<Run | undefined>;
  /** Ids, the newest first. */
  list(): Promise<string[]>;
  /** Ids of the runs that the sweeper walks. */
  live(): Promise<string[]>;
  events(runId: string): Promise<RunEvent[]>;
  /** The lines of a run's payouts in a state, ascending, in pieces; what moves meanwhile may be seen or not. */
  linesIn(runId: string, options: { state: PayoutState | 'refused'; from?: number }): AsyncGenerator<number[]>;
  /** All rows of a run in file order, in batches. */
  rows(runId: string): AsyncGenerator<(Payout | RefusedRow)[]>;
  /** Bookkeeping fields of the run hash. */
  note(runId: string, fields: Readonly<Record<string, string>>): Promise<void>;
  /** Takes a run that is over and reported out of the sweeper's walk. */
  leave(runId: string): Promise<void>;
  /** Runs whose payments are to be looked at for returns; each again a day later, until `forMs` after its end. */
  takeWatch(forMs: number): Promise<string[]>;
  deadQuotes(runId: string): Promise<{ line: number; quoteId: string }[]>;
}

/** The runs of the ledger. */
export function openRuns(redis: Redis, keys: LedgerKeys): Runs {
  const scripts = runScripts();
  const { prefix } = keys;

  async function records(runId: string, lines: readonly number[]): Promise<(Payout | RefusedRow)[]> {
    const args = lines.flatMap((line) => [runId, line]);
    const replies = listOf(listOf(await runScript(redis, scripts.read, { prefix, args }))[4]);
    return lines.flatMap((line, index) => {
      const record = readRecord(replies[index], { runId, line });
      return record === undefined || 'rowless' in record ? [] : [record];
    });
  }

  return {
    async claim(claim) {
      const args = [claim.fileSha256, claim.contentHash, claim.id, JSON.stringify(claimFields(claim))];
      const [id = '', result] = textsOf(await runScript(redis, scripts.claim, { prefix, args }));
      return { id, result: result === 'new' || result === 'known' || result === 'season' ? result : 'taken' };
    },
    async record(runId, rows, rememberMs) {
      const args = [runId, rememberMs, JSON.stringify(rows.map(recordArgument))];
      const answer = await runScript(redis, scripts.record, { prefix, args });
      return answer === 'recorded' || answer === 'season' ? answer : 'closed';
    },
    async move(runId, { to, actor, reason, from }) {
      const [word, state = ''] = textsOf(
        await runScript(redis, scripts.move, { prefix, args: [runId, to, actor, reason, from ?? ''] }),
      );
      const result = RUN_MOVE_RESULTS.find((known) => known === word);
      if (result === undefined) throw new LedgerFault('the run script gave an unknown answer');
      return { result, state };
    },
    async read(runId) {
      const [fields, dead] = await Promise.all([redis.hgetall(keys.run(runId)), redis.llen(keys.dead(runId))]);
      return fields['state'] === undefined ? undefined : readRun(runId, new Map(Object.entries(fields)), dead);
    },
    list: () => redis.zrevrange(keys.runs, 0, -1),
    live: () => redis.smembers(keys.live),
    async events(runId) {
      const entries = await redis.xrange(keys.events(runId), '-', '+');
      return entries.map(([id, flat]) => readEvent(id, flat));
    },
    linesIn: (runId, { state, from = 0 }) => linesOf(redis, keys.index(runId, state), from),
    async *rows(runId) {
      const indexes = [...PAYOUT_STATES, 'refused' as const].map((state) => keys.index(runId, state));
      for await (const lines of linesOfAll(redis, indexes)) {
        for (let from = 0; from < lines.length; from += RECORDS_PER_CALL) {
          yield await records(runId, lines.slice(from, from + RECORDS_PER_CALL));
        }
      }
    },
    async note(runId, fields) {
      await redis.hset(keys.run(runId), fields);
    },
    async leave(runId) {
      await redis.srem(keys.live, runId);
    },
    async takeWatch(forMs) {
      return textsOf(await runScript(redis, scripts.watch, { prefix, args: [forMs] }));
    },
    async deadQuotes(runId) {
      const entries = await redis.lrange(keys.dead(runId), 0, -1);
      return entries.map((entry) => {
        const [line = '', quoteId = ''] = entry.split(' ');
        return { line: Number.parseInt(line, 10), quoteId };
      });
    },
  };
}

function runScripts() {
  return {
    claim: script(CLAIM_RUN),
    record: script(RECORD),
    move: script(MOVE_RUN),
    read: script(READ),
    watch: script(TAKE_WATCH),
  };
}

const RUN_MOVE_RESULTS: readonly RunMoveAnswer['result'][] = [
  'moved',
  'there',
  'forbidden',
  'missing',
  'open',
  'halted',
  'season',
  'incomplete',
];

function claimFields(claim: RunClaim): Record<string, string> {
  return {
    fileName: claim.fileName,
    fileSha256: claim.fileSha256,
    contentHash: claim.contentHash,
    rows: String(claim.rows),
    fileTotals: claim.fileTotals.map((money) => `${money.currency} ${formatAmount(money)}`).join(','),
    createdBy: claim.createdBy,
  };
}

function recordArgument(row: RowRecord): Record<string, unknown> {
  return {
    l: row.line,
    s: row.state,
    f: row.fields,
    a: row.amount?.minor.toString(),
    c: row.amount?.currency,
    h: row.referenceHash ?? undefined,
  };
}

function readRun(id: string, fields: ReadonlyMap<string, string>, deadQuotes: number): Run {
  const state = RUN_STATES.find((known) => known === fields.get('state'));
  if (state === undefined) throw new LedgerFault(`run ${id} has an unknown state`);
  const states = [...PAYOUT_STATES, 'refused' as const];
  const number = (name: string): number => integerOf(fields.get(name) ?? '0');
  const time = (name: string): number | null => (fields.has(name) ? number(name) : null);
  return {
    id,
    state,
    pauseReason: fields.get('pauseReason') ?? null,
    fileName: fields.get('fileName') ?? '',
    fileSha256: fields.get('fileSha256') ?? '',
    rows: number('rows'),
    fileTotals: readTotals(fields.get('fileTotals') ?? ''),
    createdAt: number('createdAt'),
    createdBy: fields.get('createdBy') ?? '',
    finishedAt: time('finishedAt'),
    finishedChanges: number('finishedChanges'),
    counts: recordOf(states, (payoutState) => number(`n:${payoutState}`)),
    amounts: readAmounts(fields),
    changes: number('changes'),
    reportedChanges: number('reportedChanges'),
    reportVersion: number('reportVersion'),
    deadQuotes,
    deadQuotesFound: time('deadQuotesFound'),
  };
}

function recordOf<Key extends string, Value>(names: readonly Key[], valueOf: (key: Key) => Value): Record<Key, Value> {
  // Object.fromEntries forgets the keys' type; each of them is set here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every key of the record is in the list
  return Object.fromEntries(names.map((key) => [key, valueOf(key)])) as Record<Key, Value>;
}

function readTotals(text: string): Money[] {
  if (text === '') return [];
  return text.split(',').map((entry) => {
    const [currency = '', amount = ''] = entry.split(' ');
    const money = moneyOfDecimal(amount, currency);
    if (money === undefined) throw new LedgerFault('a run has a damaged total');
    return money;
  });
}

function readAmounts(fields: ReadonlyMap<string, string>): Map<string, Record<Outcome, bigint>> {
  const amounts = new Map<string, Record<Outcome, bigint>>();
  for (const [name, value] of fields) {
    const match = /^m:([A-Z]{3}):([a-z]+)$/.exec(name);
    const outcome = OUTCOMES.find((known) => known === match?.[2]);
    const currency = match?.[1];
    if (currency === undefined || outcome === undefined) continue;
    const row = amounts.get(currency) ?? recordOf(OUTCOMES, () => 0n);
    row[outcome] = BigInt(value);
    amounts.set(currency, row);
  }
  return amounts;
}

function readEvent(id: string, flat: readonly string[]): RunEvent {
  const fields = new Map<string, string>();
  for (let index = 0; index < flat.length; index += 2) fields.set(flat[index] ?? '', flat[index + 1] ?? '');
  return {
    at: Number.parseInt(id, 10),
    event: fields.get('event') ?? '',
    actor: fields.get('actor') ?? '',
    reason: fields.get('reason') ?? '',
  };
}

async function* linesOf(redis: Redis, index: string, from: number): AsyncGenerator<number[]> {
  for await (const lines of linesOfAll(redis, [index], from)) yield lines;
}

/** The lines whose bit is set in any of the bitmaps, ascending, a piece of the bitmaps at a time. */
async function* linesOfAll(redis: Redis, indexes: readonly string[], from = 0): AsyncGenerator<number[]> {
  const lengths = await Promise.all(indexes.map((index) => redis.strlen(index)));
  const length = Math.max(0, ...lengths);
  for (let start = Math.floor(from / 8); start < length; start += INDEX_BYTES_PER_CALL) {
    const pieces = await readPieces(redis, indexes, { start, end: start + INDEX_BYTES_PER_CALL - 1 });
    const lines = setBits(pieces, start * 8).filter((line) => line >= from);
    if (lines.length > 0) yield lines;
  }
}

/** The same piece of several bitmaps at one moment, so that a payout that moves meanwhile stands in one of them. */
async function readPieces(
  redis: Redis,
  indexes: readonly string[],
  piece: { start: number; end: number },
): Promise<Buffer[]> {
  const transaction = redis.multi();
  for (const index of indexes) transaction.getrangeBuffer(index, piece.start, piece.end);
  const replies = (await transaction.exec()) ?? [];
  return replies.map(([error, bytes]) => {
    if (error !== null) throw error;
    if (!Buffer.isBuffer(bytes)) throw new LedgerFault('an index is no bitmap');
    return bytes;
  });
}

function setBits(pieces: readonly Buffer[], firstBit: number): number[] {
  const lines: number[] = [];
  const length = Math.max(...pieces.map((piece) => piece.length));
  for (let index = 0; index < length; index++) {
    const byte = pieces.reduce((all, piece) => all | (piece[index] ?? 0), 0);
    if (byte === 0) continue;
    for (let bit = 0; bit < 8; bit++) if ((byte & (0x80 >> bit)) !== 0) lines.push(firstBit + index * 8 + bit);
  }
  return lines;
}
