import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readUtf8 } from '../../src/intake/csv/text.ts';
import { DEFAULT_LIMITS } from '../../src/intake/limits.ts';
import type { FileRecord } from '../../src/intake/record.ts';
import { openRecordReader } from '../../src/intake/records.ts';

function read(text: string | Buffer, pieceBytes = 1 << 20): { records: FileRecord[]; fault: string | undefined } {
  const bytes = Buffer.from(text);
  const reader = openRecordReader({ ...DEFAULT_LIMITS, delimiter: ',' });
  const records: FileRecord[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    records.push(...reader.push(bytes.subarray(at, at + pieceBytes)));
  }
  records.push(...reader.end());
  return { records, fault: reader.fault()?.code };
}

const piece = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => text.replaceAll('\0', '')),
  fc.constantFrom('"', '""', ',', '\n', '\r\n', '\r', ' ', '', 'é', '💶', '\uFEFF', "'"),
);
const cell = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(''));
const table = fc.array(fc.array(cell, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 8 });

function needsQuotes(text: string): boolean {
  return /[",\r\n]/.test(text);
}

function written(rows: string[][], lineEnd: string, areAllQuoted: boolean): string {
  const quoted = (text: string): string =>
    areAllQuoted || needsQuotes(text) ? `"${text.replaceAll('"', '""')}"` : text;
  return rows.map((row) => row.map(quoted).join(',') + lineEnd).join('');
}

describe('records', () => {
  test('what is written by RFC 4180 is read back as the same cells, with either line end and however it is cut', () => {
    fc.assert(
      fc.property(
        table,
        fc.constantFrom('\n', '\r\n'),
        fc.record({ areAllQuoted: fc.boolean(), pieceBytes: fc.integer({ min: 1, max: 40 }) }),
        (rows, lineEnd, { areAllQuoted, pieceBytes }) => {
          const text = `reference${lineEnd}${written(rows, lineEnd, areAllQuoted)}`;
          const { records, fault } = read(text, pieceBytes);
          expect(fault).toBeUndefined();
          expect(records.slice(1).map(({ cells }) => cells)).toEqual(rows);
        },
      ),
      { numRuns: 400 },
    );
  });

  test('the line of each record is the number of line feeds before it, plus one', () => {
    fc.assert(
      fc.property(table, fc.constantFrom('\n', '\r\n'), (rows, lineEnd) => {
        const lines = rows.map((_, at) => written(rows.slice(0, at), lineEnd, true).split('\n').length);
        const { records } = read(written(rows, lineEnd, true));
        expect(records.map(({ line }) => line)).toEqual(lines);
      }),
    );
  });

  test('a table without quotes reads the same as with all cells in quotes', () => {
    const plainCell = fc.string({ unit: 'grapheme', maxLength: 6 }).map((text) => text.replaceAll(/[",\r\n\0]/g, ''));
    const plain = fc.array(fc.array(plainCell, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(plain, fc.constantFrom('\n', '\r\n'), (rows, lineEnd) => {
        const text = (areAllQuoted: boolean) => `x${lineEnd}${written(rows, lineEnd, areAllQuoted)}`;
        expect(read(text(false))).toEqual(read(text(true)));
      }),
    );
  });

  test('any bytes give the same records and the same fault however they are cut', () => {
    const token = fc.constantFrom('a', ',', '"', '\n', '\r', '\r\n', '\0', 'é', '💶');
    const bytes = fc
      .array(
        fc.oneof(
          token.map((text) => Buffer.from(text)),
          fc.integer({ min: 0, max: 255 }).map((byte) => Buffer.from([byte])),
        ),
        {
          maxLength: 60,
        },
      )
      .map((parts) => Buffer.concat(parts));
    fc.assert(
      fc.property(bytes, fc.integer({ min: 1, max: 9 }), (content, pieceBytes) => {
        expect(read(content, pieceBytes)).toEqual(read(content));
      }),
      { numRuns: 1000 },
    );
  });

  /** Beside those of the public suite (public-suites.test.ts). */
  test.each([
    [
      'blanks around cells',
      'a, b\n 1 ,2\n',
      [
        ['a', ' b'],
        [' 1 ', '2'],
      ],
    ],
    [
      'coordinates',
      'a,b\nx,"40°42\'46"" N, 74°00\'21"" W"\n',
      [
        ['a', 'b'],
        ['x', '40°42\'46" N, 74°00\'21" W'],
      ],
    ],
  ])('%s are read as they stand', (_name, text, cells) => {
    expect(read(text).records.map((record) => record.cells)).toEqual(cells);
  });
});

function decodes(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

describe('UTF-8', () => {
  test('the first byte that begins no character is the one at which a strict decoder stops', () => {
    const some = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }).map((text) => Buffer.from(text, 'utf8')),
      fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
    );
    fc.assert(
      fc.property(
        fc.array(some, { maxLength: 6 }).map((parts) => Buffer.concat(parts)),
        (bytes) => {
          const { validBytes, isBroken } = readUtf8(bytes);
          expect(decodes(bytes.subarray(0, validBytes))).toBe(true);
          for (let end = validBytes + 1; end <= Math.min(bytes.length, validBytes + 4); end++) {
            expect(decodes(bytes.subarray(validBytes, end))).toBe(false);
          }
          expect(isBroken || bytes.length - validBytes < 4).toBe(true);
        },
      ),
      { numRuns: 1000 },
    );
  });
});
