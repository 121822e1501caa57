import { z } from 'zod';

/** What intake reads at most; a file beyond it is refused, never cut. */
export interface IntakeLimits {
  readonly fileBytesMax: number;
  /** Data lines, the header not counted. */
  readonly rowsMax: number;
  /** Bytes of one line of the table, its line end included. */
  readonly recordBytesMax: number;
  /** Problems kept with their text; the others are only counted. */
  readonly problemsMax: number;
  /** Bytes of a workbook as it is handed in; it is held in memory while it is read. */
  readonly workbookBytesMax: number;
  /** Bytes that all parts of a workbook may have when they are unpacked. */
  readonly unpackedBytesMax: number;
  /** Bytes of a workbook's table of texts, which is held in memory while the workbook is read. */
  readonly sharedTextBytesMax: number;
  /** Memory of the process that reads a file. */
  readonly readMemoryBytesMax: number;
  /** Seconds that may pass for a small file while one waits for that process; a large one may take longer by its size. */
  readonly readSecondsMax: number;
}

const KIBIBYTE = 1024;
const MEBIBYTE = 1024 * KIBIBYTE;
const GIGABYTE = 1_000_000_000;

export const DEFAULT_LIMITS: IntakeLimits = {
  fileBytesMax: 2 * GIGABYTE,
  rowsMax: 2_000_000,
  recordBytesMax: 64 * KIBIBYTE,
  problemsMax: 1000,
  workbookBytesMax: 128 * MEBIBYTE,
  unpackedBytesMax: 2 * GIGABYTE,
  sharedTextBytesMax: 128 * MEBIBYTE,
  readMemoryBytesMax: 512 * MEBIBYTE,
  readSecondsMax: 60,
};

const limit = z.int().min(1);
/** The reading program itself takes some of it. */
const READ_MEMORY_BYTES_MIN = 128 * MEBIBYTE;

/** The part `files` of the file that PAYRUN_CONFIG names: any of the limits, each at least 1. */
export const limitsOfFiles = z
  .strictObject({
    fileBytesMax: limit,
    rowsMax: limit,
    recordBytesMax: limit,
    problemsMax: limit.max(DEFAULT_LIMITS.problemsMax),
    workbookBytesMax: limit,
    unpackedBytesMax: limit,
    sharedTextBytesMax: limit,
    readMemoryBytesMax: limit.min(READ_MEMORY_BYTES_MIN),
    readSecondsMax: limit,
  })
  .partial()
  .transform((limits): IntakeLimits => {
    const given = Object.entries(limits).filter(([, value]) => value !== undefined);
    return { ...DEFAULT_LIMITS, ...Object.fromEntries(given) };
  });
