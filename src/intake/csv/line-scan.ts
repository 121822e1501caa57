import type { Fault } from './text.ts';

const NUL = 0x00;
const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;

export type LineEnd = '\n' | '\r\n';

/** Finds where records end, by looking at nothing but quotes and line ends. */
export interface LineScan {
  /**
   * Looks at the bytes that were added behind those it has seen. `recordsEnd` is the index behind the last whole
   * record, or 0 when none ended.
   */
  scan(bytes: Buffer): { recordsEnd: number; fault: Fault | undefined };
  /** The bytes up to `recordsEnd` are taken away. */
  drop(): void;
  /** What is wrong with the end of the text. */
  end(): Fault | undefined;
  /** The line end of the first line, which all others must have; undefined before it. */
  lineEnd(): LineEnd | undefined;
}

/**
 * A line end within double quotes belongs to its cell. Double quotes are paired up without regard to where they stand:
 * where they stand wrong, the parser refuses the record.
 */
export function openLineScan(recordBytesMax: number): LineScan {
  let seen = 0;
  let recordStart = 0;
  let isQuoted = false;
  let isAfterReturn = false;
  let lineEnd: LineEnd | undefined;

  function scan(bytes: Buffer): { recordsEnd: number; fault: Fault | undefined } {
    for (; seen < bytes.length; seen++) {
      if (seen - recordStart >= recordBytesMax) return { recordsEnd: recordStart, fault: tooLong(bytes) };
      const byte = bytes[seen] ?? NUL;
      if (byte > QUOTE && !isAfterReturn) continue;
      const fault = step(byte);
      if (fault !== undefined) return { recordsEnd: recordStart, fault };
    }
    return { recordsEnd: recordStart, fault: undefined };
  }

  function step(byte: number): Fault | undefined {
    if (byte === NUL) return { code: 'E_CONTROL', facts: { found: 'NUL (U+0000); the file is damaged' } };
    if (isAfterReturn && byte !== LF) return loneReturn;
    if (byte === QUOTE) isQuoted = !isQuoted;
    else if (!isQuoted && byte === CR) isAfterReturn = true;
    else if (!isQuoted && byte === LF) return endRecord();
    return undefined;
  }

  function endRecord(): Fault | undefined {
    const ending = isAfterReturn ? '\r\n' : '\n';
    lineEnd ??= ending;
    if (ending !== lineEnd) return { code: 'E_NEWLINE', facts: { found: 'some lines end with CR LF, others with LF' } };
    isAfterReturn = false;
    recordStart = seen + 1;
    return undefined;
  }

  /** Line ends in so long a record stand in quotes: a quote that is never closed is what makes such records. */
  function tooLong(bytes: Buffer): Fault {
    const spansLines = bytes.subarray(recordStart, recordStart + recordBytesMax).includes(LF);
    if (!spansLines) return { code: 'E_RECORD_SIZE', facts: { limit: recordBytesMax } };
    const found = `a cell that begins with a double quote is not closed within ${recordBytesMax} bytes`;
    return { code: 'E_QUOTE', facts: { found } };
  }

  return {
    scan,
    drop() {
      seen -= recordStart;
      recordStart = 0;
    },
    end: () => (isAfterReturn ? loneReturn : undefined),
    lineEnd: () => lineEnd,
  };
}

const loneReturn: Fault = { code: 'E_NEWLINE', facts: { found: 'a line ends with CR alone' } };
