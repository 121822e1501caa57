import type { Redis } from 'ioredis';
import type { PayoutPlace } from '../../payout.ts';
import { blockOf } from '../keys.ts';
import { integerOf, LedgerFault, listOf, runScript, script, textOf } from '../script.ts';
import { READ } from '../scripts/read.ts';
import { decode, type StoredPayout } from './stored.ts';

/** Records, and what stood beside them in the ledger at the moment of reading. */
export interface RecordReading {
  /** In the order of the places; an error for a damaged one. */
  readonly records: readonly (StoredPayout | LedgerFault | undefined)[];
  readonly waitMs: number;
  readonly halt: string | null;
  readonly disproved: readonly string[];
  readonly now: number;
  readonly armings: number;
}

/** Reads the records of payouts in one call. */
export function openReading(redis: Redis, prefix: string): (places: readonly PayoutPlace[]) => Promise<RecordReading> {
  const read = script(READ);
  return async (places) => {
    const blocks = inBlocks(places);
    const args = blocks.flatMap(({ runId, block, lines }) => [runId, block, lines.length, ...lines]);
    const [wait, halt, disproved, now, armings, found] = listOf(await runScript(redis, read, { prefix, args }));
    const records: (StoredPayout | LedgerFault | undefined)[] = places.map(() => undefined);
    listOf(found).forEach((texts, index) => {
      const indexes = blocks[index]?.indexes ?? [];
      listOf(texts).forEach((text, position) => {
        records[indexes[position] ?? -1] = readText(text);
      });
    });
    return {
      records,
      waitMs: integerOf(wait),
      halt: textOf(halt) === '' ? null : textOf(halt),
      disproved: textOf(disproved).split(',').filter(Boolean),
      now: integerOf(now),
      armings: integerOf(armings),
    };
  };
}

/** Undefined for a record that is not there. */
export function readText(text: unknown): StoredPayout | LedgerFault | undefined {
  if (text === null || text === undefined) return undefined;
  try {
    return decode(textOf(text));
  } catch (error) {
    if (error instanceof LedgerFault) return error;
    throw error;
  }
}

interface BlockLines {
  readonly runId: string;
  readonly block: number;
  readonly lines: number[];
  /** Where each of them stood in the list. */
  readonly indexes: number[];
}

/** The same places by their blocks. */
export function inBlocks(places: readonly PayoutPlace[]): BlockLines[] {
  const blocks = new Map<string, BlockLines>();
  places.forEach(({ runId, line }, index) => {
    const block = blockOf(line);
    const name = `${runId}:${block}`;
    const there = blocks.get(name) ?? { runId, block, lines: [], indexes: [] };
    there.lines.push(line);
    there.indexes.push(index);
    blocks.set(name, there);
  });
  return [...blocks.values()];
}
