import { Socket } from 'node:net';
import type { Reading } from '../formats.ts';
import { readPain001 } from '../pain001/read-pain001.ts';
import type { FileRecord, RecordBatch, RecordStream } from '../record.ts';
import { readCsv } from '../records.ts';
import { readCamt } from '../statement/camt.ts';
import { readXlsx } from '../xlsx/read-xlsx.ts';
import { frameOf, messagesOf } from './frames.ts';
import { isInput, type ReaderInput, type ReaderOutput } from './messages.ts';

/*
 * The program of a reader process: file after file comes by its standard input, and records leave by its standard output.
 * It writes and waits, so that it is never ahead of who takes them.
 */

const READERS: Readonly<Record<Reading['format'], (chunks: AsyncIterable<Buffer>, reading: Reading) => RecordStream>> =
  {
    csv: (chunks, { template, limits }) => readCsv(chunks, { ...limits, delimiter: template.delimiter }),
    xlsx: readXlsx,
    'pain.001': readPain001,
    camt: readCamt,
  };

const OUTPUT = new Socket({ fd: 1, readable: false });
/** What a message holds at most: whoever takes it is kept from nothing else for long. */
const RECORDS_MAX = 200;
const CHARACTERS_MAX = 128 * 1024;
const DAMAGE_MAX = 200;

async function readFiles(input: AsyncGenerator<ReaderInput, void>): Promise<void> {
  for (let next = await input.next(); next.done !== true; next = await input.next()) {
    const task = next.value;
    if (task === 'end' || task instanceof Uint8Array) continue;
    for await (const batch of READERS[task.reading.format](bytesOf(input), task.reading)) await tellBatch(batch);
    await tell({ residentBytes: process.memoryUsage.rss() });
  }
}

async function* bytesOf(input: AsyncGenerator<ReaderInput, void>): AsyncGenerator<Buffer, void> {
  for (let next = await input.next(); next.done !== true; next = await input.next()) {
    if (!(next.value instanceof Uint8Array)) return;
    yield Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
  }
}

async function tellBatch({ records, damage = [], ...rest }: RecordBatch): Promise<void> {
  let part: FileRecord[] = [];
  let characters = 0;
  for (const record of records) {
    part.push(record);
    characters += record.cells.reduce((sum, cell) => sum + cell.length, 0);
    if (part.length < RECORDS_MAX && characters < CHARACTERS_MAX) continue;
    await tell({ records: part });
    part = [];
    characters = 0;
  }
  await tell({ records: part });
  for (let at = 0; at < damage.length; at += DAMAGE_MAX) {
    await tell({ records: [], damage: damage.slice(at, at + DAMAGE_MAX) });
  }
  await tell({ records: [], ...rest });
}

async function tell(message: ReaderOutput): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    OUTPUT.write(frameOf(message), (error) => (error ? reject(error) : resolve()));
  });
}

try {
  await readFiles(messagesOf(process.stdin, isInput));
} catch (error) {
  await tell({ fault: error instanceof Error ? `${error.name}: ${error.message}` : 'an unknown fault' });
}
