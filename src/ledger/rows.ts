import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Money } from '../money.ts';
import type { Payout, RefusedRow } from '../payout.ts';
import { type LedgerKeys, LINES_PER_BLOCK } from './keys.ts';
import { openReading } from './payouts/reading.ts';
import { amountOf, readRecord } from './payouts/record.ts';
import { type RowState, STATE_LETTERS, type StoredPayout } from './payouts/stored.ts';
import { openNames } from './people/names.ts';
import { integerOf } from './script.ts';
import type { Seals } from './seals.ts';

const STATES_PER_CALL = 16_384;
const RECORDS_PER_CALL = 5 * LINES_PER_BLOCK;

export type { RowState };

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

/** By which it is seen what of a row stands. */
export type RowSeals = Pick<Seals, 'judgeProposal' | 'name' | 'judgeName'>;

/** The rows of the ledger's runs, found by the index of their states. */
export function openRows(redis: Redis, keys: LedgerKeys, seals: RowSeals): Rows {
  const read = openReading(redis, keys.prefix);
  const names = openNames(redis, keys, seals);

  async function stored(runId: string, lines: readonly number[]) {
    const reading = await read(lines.map((line) => ({ runId, line })));
    return reading.records.map((record) => {
      if (record instanceof Error) throw record;
      return record;
    });
  }

  async function records(runId: string, lines: readonly number[]): Promise<(Payout | RefusedRow)[]> {
    const replies = await stored(runId, lines);
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
    linesIn: (runId, { state, from = 0 }) => linesOf(redis, keys.states(runId), { states: [state], from }),
    async *rows(runId, states) {
      let ahead: ReturnType<typeof records> | undefined;
      for await (const lines of linesOf(redis, keys.states(runId), { states, from: 0 })) {
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
    async page(runId, { states, from = 0, skip = 0, most }) {
      const lines: number[] = [];
      let left = skip;
      for await (const piece of linesOf(redis, keys.states(runId), { states, from })) {
        lines.push(...piece.slice(left, left + most - lines.length));
        if (lines.length >= most) break;
        left = Math.max(0, left - piece.length);
      }
      return await records(runId, lines);
    },
    row: async (runId, line) => (await records(runId, [line]))[0],
    async texts(runId, from, to) {
      const lines = range(from, to);
      return (await stored(runId, lines)).flatMap((record, index) => textOf(record, lines[index] ?? 0));
    },
    async digestRows(runId, lastLine) {
      const digest = createHash('sha256');
      for (let from = 1; from <= lastLine; from += RECORDS_PER_CALL) {
        const lines = range(from, Math.min(lastLine, from + RECORDS_PER_CALL - 1));
        (await stored(runId, lines)).forEach((record, index) => {
          const seal = record?.values.get('rh');
          if (seal !== undefined) digest.update(`${lines[index]} ${seal}\n`);
        });
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

function textOf(record: StoredPayout | undefined, line: number): RowText[] {
  const amount = record && amountOf(record.values);
  const beneficiary = record?.values.get('ben');
  const reference = record?.values.get('ref');
  if (amount === undefined || beneficiary === undefined || reference === undefined) return [];
  return [{ line, beneficiary, amount: { minor: BigInt(amount.minor), currency: amount.currency }, reference }];
}

function range(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_value, index) => from + index);
}

/** Who is paid by a row, and on whose behalf, in lower case. */
function identitiesOf(row: Payout | RefusedRow): string[] {
  const { beneficiaryIdentityId, originatorIdentityId } = 'row' in row ? row.row : row.cells;
  return [beneficiaryIdentityId ?? '', originatorIdentityId ?? ''].map((id) => id.toLowerCase());
}

/** The lines whose letter is that of one of the states, or of any, ascending, a piece of the string at a time. */
async function* linesOf(
  redis: Redis,
  key: string,
  { states, from }: { states: readonly RowState[] | undefined; from: number },
): AsyncGenerator<number[]> {
  const wanted = new Set(states?.map((state) => STATE_LETTERS[state].charCodeAt(0)));
  for (let start = from; ; start += STATES_PER_CALL) {
    const letters = await redis.getrangeBuffer(key, start, start + STATES_PER_CALL - 1);
    if (letters.length === 0) return;
    const lines: number[] = [];
    letters.forEach((letter, index) => {
      if (states === undefined ? letter !== 0 : wanted.has(letter)) lines.push(start + index);
    });
    if (lines.length > 0) yield lines;
  }
}
