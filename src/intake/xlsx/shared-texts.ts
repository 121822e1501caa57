import type { IntakeLimits } from '../limits.ts';
import { DamageError } from '../problems/damage-error.ts';
import { isSpreadsheet, readPart } from './parts.ts';
import type { Zip } from './zip.ts';

/** The table of texts that cells name by their index: kept as bytes, for a million strings take far more. */
export interface SharedTexts {
  /** Undefined for an index that the table does not have. */
  get(index: number): string | undefined;
}

const BYTES_AT_FIRST = 64 * 1024;
/** What an entry counts besides its text: the time to read it, more than the memory. */
const ENTRY_BYTES = 32;

export async function readSharedTexts(
  zip: Zip,
  part: string | undefined,
  { sharedTextBytesMax, recordBytesMax }: Pick<IntakeLimits, 'sharedTextBytesMax' | 'recordBytesMax'>,
): Promise<SharedTexts> {
  let bytes = Buffer.alloc(BYTES_AT_FIRST);
  let used = 0;
  const ends: number[] = [];
  const text = openCellText(recordBytesMax);

  function add(value: string): void {
    const length = Buffer.byteLength(value);
    if (used + length + ends.length * ENTRY_BYTES > sharedTextBytesMax) throw tooMuchText(sharedTextBytesMax);
    if (used + length > bytes.length) bytes = Buffer.concat([bytes], Math.max(bytes.length * 2, used + length));
    used += bytes.write(value, used);
    ends.push(used);
  }

  if (part !== undefined) {
    const path: string[] = [];
    await readPart(zip, part, {
      open(element) {
        path.push(isSpreadsheet(element) ? element.local : '');
        if (element.local === 'si') text.clear();
        text.open(path);
      },
      text: (value) => text.add(value),
      close() {
        if (path.pop() === 'si') add(text.take());
        text.open(path);
      },
    });
  }

  return {
    get(index) {
      const end = ends[index];
      return end === undefined ? undefined : bytes.toString('utf8', ends[index - 1] ?? 0, end);
    },
  };
}

/** Puts the text of a cell together: runs of rich text in a row, without the readings of Japanese words (`rPh`). */
export function openCellText(charactersMax: number) {
  let pieces: string[] = [];
  let length = 0;
  let isRead = false;
  return {
    clear() {
      pieces = [];
      length = 0;
    },
    /** The path of elements changed. */
    open(path: readonly string[]) {
      isRead = path.at(-1) === 't' && !path.includes('rPh');
    },
    add(text: string) {
      if (!isRead || text === '') return;
      length += text.length;
      if (length > charactersMax)
        throw new DamageError({ code: 'E_RECORD_SIZE', line: null, facts: { limit: charactersMax } });
      pieces.push(text);
    },
    take: () => unescaped(pieces.join('')),
  };
}

function tooMuchText(limit: number): DamageError {
  return new DamageError({ code: 'E_UNPACKED_SIZE', line: null, facts: { limit } });
}

/** Characters that XML cannot hold, such as `_x000D_` (ISO/IEC 29500-1, 22.9.2.19, ST_Xstring). */
function unescaped(text: string): string {
  if (!text.includes('_x')) return text;
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
