import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Money } from '../money.ts';
import { PAYOUT_STATES, type Payout, type PayoutState, type RefusedRow } from '../payout.ts';
import type { LedgerKeys } from './keys.ts';
import { openNames } from './people/names.ts';
import { readRecord } from './record.ts';
import { integerOf, LedgerFault, listOf, recordsOf, runScript, script, textOf } from './script.ts';
import { READ, ROW_SEALS, ROW_TEXTS } from './scripts/read.ts';
import type { Seals } from './seals.ts';

const INDEX_BYTES_PER_CALL = 4096;
const RECORDS_PER_CALL = 100;
const SEALS_PER_CALL = 1000;

export type RowState = PayoutState | 'refused';
const ROW_STATES: readonly RowState[] = [...PAYOUT_STATES, 'refused'];

/** Which rows of a run are wanted: at most `most` of those in one of the states, from a line on, without the first `skip`. */
export interface PageOfRows {
  readonly states?: readonly RowState[];
  readonly from?: number;
  readonly skip?: number;
  readonly most: number;
}

/** What a payout is searched by. */
export interface RowText {
  readonly line: number;
  readonly beneficiary: string;
  readonly amount: Money;
  readonly reference: string;
}

/** The rows of runs: payouts, and rows that intake refused; with the names that the service lists. */
export interface Rows {
  /** The lines of a run's payouts in a state, ascending, in pieces; what moves meanwhile may be seen or not. */
  linesIn(runId: string, options: { state: RowState; from?: number }): AsyncGenerator<number[]>;
  /** The rows of a run in file order, in batches: all of them, or those that were in one of the states when they were looked for. */
  rows(runId: string, states?: readonly RowState[]): AsyncGenerator<(Payout | RefusedRow)[]>;
  /** A page of the same; of the rows that are not on it, no record is read. */
  page(runId: string, place: PageOfRows): Promise<(Payout | RefusedRow)[]>;
  /** One row. */
  row(runId: string, line: number): Promise<Payout | RefusedRow | undefined>;
  /** What the payouts on some lines are searched by, in one call; it never changes. */
  texts(runId: string, from: number, to: number): Promise<RowText[]>;
  /** SHA-256 over the seals of all rows up to a line, in file order, in hexadecimal. */
  digestRows(runId: string, lastLine: number): Promise<string>;
  /** How many rows of each of the runs are in one of the states; none of a run that there is not. */
  countIn(runIds: readonly string[], states: readonly RowState[]): Promise<number[]>;
}

/** The rows of the ledger's runs, found by the index of their states. */
export function openRows(redis: Redis, keys: LedgerKeys, seals: Pick<Seals, 'judgeProposal'>): Rows {
  const { prefix } = keys;
  const readScript = script(READ);
  const sealsScript = script(ROW_SEALS);
  const textsScript = script(ROW_TEXTS);
  const names = openNames(redis, keys);

  async function records(runId: string, lines: readonly number[]): Promise<(Payout | RefusedRow)[]> {
    const args = lines.flatMap((line) => [runId, line]);
    const replies = recordsOf(listOf(await runScript(redis, readScript, { prefix, args }))[4]);
    const rows = lines.flatMap((line, index) => {
      const record = readRecord(replies[index], { runId, line }, seals);
      return record === undefined || 'rowless' in record ? [] : [record];
    });
    const listed = await names.read(rows.flatMap(identitiesOf));
    return rows.map((row) => {
      const [beneficiary = '', originator = ''] = identitiesOf(row);
      const beneficiaryName = listed.get(beneficiary) ?? null;
      return { ...row, beneficiaryName, originatorName: listed.get(originator) ?? null };
    });
  }

  return {
    linesIn: (runId, { state, from = 0 }) => linesOf(redis, keys.index(runId, state), from),
    async *rows(runId, states = ROW_STATES) {
      const indexes = states.map((state) => keys.index(runId, state));
      let ahead: ReturnType<typeof records> | undefined;
      for await (const lines of linesOfAll(redis, indexes)) {
        for (let from = 0; from < lines.length; from += RECORDS_PER_CALL) {
          const next = records(runId, lines.slice(from, from + RECORDS_PER_CALL));
          // What fails is thrown where it is waited for, unless nobody reads so far.
          next.catch(() => {});
          if (ahead !== undefined) yield await ahead;
          ahead = next;
        }
      }
      if (ahead !== undefined) yield await ahead;
    },
    async page(runId, { states = ROW_STATES, from = 0, skip = 0, most }) {
      const indexes = states.map((state) => keys.index(runId, state));
      const lines: number[] = [];
      let left = skip;
      for await (const piece of linesOfAll(redis, indexes, from)) {
        lines.push(...piece.slice(left, left + most - lines.length));
        if (lines.length >= most) break;
        left = Math.max(0, left - piece.length);
      }
      return await records(runId, lines);
    },
    row: async (runId, line) => (await records(runId, [line]))[0],
    async texts(runId, from, to) {
      const text = textOf(await runScript(redis, textsScript, { prefix, args: [runId, from, to] }));
      return text.split('\n').flatMap(readText);
    },
    async digestRows(runId, lastLine) {
      const digest = createHash('sha256');
      for (let from = 1; from <= lastLine; from += SEALS_PER_CALL) {
        const args = [runId, from, Math.min(lastLine, from + SEALS_PER_CALL - 1)];
        digest.update(textOf(await runScript(redis, sealsScript, { prefix, args })));
      }
      return digest.digest('hex');
    },
    async countIn(runIds, states) {
      const fields = states.map((state) => `n:${state}`);
      const counts = await Promise.all(runIds.map((runId) => redis.hmget(keys.run(runId), ...fields)));
      return counts.map((texts) => texts.reduce((sum, text) => sum + integerOf(text ?? '0'), 0));
    },
  };
}

function readText(text: string): RowText[] {
  const [line = '', beneficiary = '', minor = '', currency = '', reference = ''] = text.split('\t');
  if (!/^[0-9]+$/.test(line) || !/^[0-9]+$/.test(minor)) return [];
  return [{ line: Number.parseInt(line, 10), beneficiary, amount: { minor: BigInt(minor), currency }, reference }];
}

/** Who is paid by a row, and on whose behalf, in lower case. */
function identitiesOf(row: Payout | RefusedRow): string[] {
  const { beneficiaryIdentityId, originatorIdentityId } = 'row' in row ? row.row : row.cells;
  return [beneficiaryIdentityId ?? '', originatorIdentityId ?? ''].map((id) => id.toLowerCase());
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
