import type { Reading } from '../formats.ts';
import type { IntakeLimits } from '../limits.ts';
import { DamageError } from '../problems/damage-error.ts';
import type { Damage, FileRecord, RecordStream } from '../record.ts';
import type { CellFault } from '../row/cells.ts';
import { type CellSense, type RawCell, readCell } from './cell.ts';
import { tellPart } from './parts.ts';
import { readSharedTexts } from './shared-texts.ts';
import { COLUMNS_MAX, lettersOf, openSheetReader, RANGES_MAX, type SheetListener } from './sheet.ts';
import { readFormats } from './styles.ts';
import { chooseSheet, readWorkbook } from './workbook.ts';
import { damaged, openZip } from './zip.ts';

/** Bytes that come piece by piece, in one buffer: no more than twice their memory, however many they are. */
interface GrowingBytes {
  /** Copies the piece. */
  add(piece: Buffer): void;
  take(): Buffer;
}

const BYTES_AT_FIRST = 64 * 1024;

function openGrowingBytes(): GrowingBytes {
  let bytes = Buffer.alloc(BYTES_AT_FIRST);
  let used = 0;
  return {
    add(piece) {
      if (used + piece.length > bytes.length) {
        bytes = Buffer.concat([bytes], Math.max(bytes.length * 2, used + piece.length));
      }
      used += piece.copy(bytes, used);
    },
    take: () => bytes.subarray(0, used),
  };
}

const ZIP_MARK = Buffer.from('PK\u0003\u0004', 'latin1');

/**
 * A workbook (.xlsx, ISO/IEC 29500) as records: the sheet's first row with values is the header, a record's line is its
 * row. The packed file is held in memory, so that what is read is what was hashed; it is unpacked piece by piece.
 */
export async function* readXlsx(chunks: AsyncIterable<Buffer>, { template, limits }: Reading): RecordStream {
  const archive = await wholeFile(chunks, limits.workbookBytesMax);
  if (!Buffer.isBuffer(archive)) {
    yield { records: [], stop: archive };
    return;
  }
  try {
    const zip = openZip(archive, limits);
    const workbook = await readWorkbook(zip);
    const sheet = await chooseSheet(zip, workbook, template.sheet);
    if (sheet === undefined) return;
    const sense = {
      texts: await readSharedTexts(zip, workbook.sharedTexts, limits),
      formatOf: await readFormats(zip, workbook.styles),
      decimalMark: template.decimalMark,
    };
    const rows = openRows(sense, limits);
    const listener = openSheetReader(rows.listener, limits);
    yield* tellPart(zip, sheet.part, { listener, take: () => rows.take() });
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    yield { records: [], stop: error.damage };
  }
}

/** The bytes of the file, or why they are no workbook. All chunks are taken, for the file's hash is of all of them. */
async function wholeFile(chunks: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer | Damage> {
  const whole = openGrowingBytes();
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes <= bytesMax) whole.add(chunk);
  }
  if (bytes > bytesMax) return { code: 'E_FILE_SIZE', line: null, facts: { limit: bytesMax } };
  const archive = whole.take();
  if (archive.subarray(0, ZIP_MARK.length).equals(ZIP_MARK)) return archive;
  return { code: 'E_TYPE', line: null, facts: { found: 'no ZIP archive, as a workbook is', expected: 'a workbook' } };
}

/** Makes records of the rows of a sheet, all as wide as the header at least. */
function openRows(sense: CellSense, { recordBytesMax }: Pick<IntakeLimits, 'recordBytesMax'>) {
  const hidden = new Uint8Array(COLUMNS_MAX);
  let hiddenRanges = 0;
  let mergedRanges = 0;
  const told = new Set<number>();
  let records: FileRecord[] = [];
  let damage: Damage[] = [];
  let width = 0;
  let lastLine = 0;

  /** Rows without any cell are not in the file; the first of each gap stands for them all. */
  function tellGap(line: number): void {
    if (line > lastLine + 1) records.push({ line: lastLine + 1, cells: [''] });
    lastLine = line;
  }

  function tellHidden(line: number, isHidden: boolean, cells: readonly (readonly [number, RawCell])[]): void {
    if (isHidden) damage.push({ code: 'E_HIDDEN', line, facts: { found: 'the row' } });
    for (const [column] of hiddenRanges > 0 ? cells : []) {
      if (told.has(column) || hidden[column] !== 1) continue;
      told.add(column);
      damage.push({ code: 'E_HIDDEN', line, facts: { found: `column ${lettersOf(column)}` } });
    }
  }

  const listener: SheetListener = {
    row({ line, isHidden, cells }) {
      if (cells.length === 0 && width === 0) return;
      tellGap(line);
      if (cells.length > 0) tellHidden(line, isHidden, cells);
      if (width === 0) width = (cells.at(-1)?.[0] ?? 0) + 1;
      // Cells of rows without values would take memory for nothing.
      records.push(cells.length === 0 ? { line, cells: [] } : recordOf(line, cells, { width, sense, recordBytesMax }));
    },
    hiddenColumns(first, last) {
      if (++hiddenRanges > COLUMNS_MAX) throw damaged('it has far too many hidden columns');
      hidden.fill(1, first, last + 1);
    },
    merged(range, line) {
      if (++mergedRanges > RANGES_MAX) throw damaged('it has far too many merged cells');
      damage.push({ code: 'E_MERGED', line, facts: { found: range } });
    },
  };

  return {
    listener,
    take() {
      const batch = { records, damage };
      records = [];
      damage = [];
      return batch;
    },
  };
}

function recordOf(
  line: number,
  cells: readonly (readonly [number, RawCell])[],
  { width, sense, recordBytesMax }: { width: number; sense: CellSense; recordBytesMax: number },
): FileRecord {
  const texts = Array.from({ length: Math.max(width, (cells.at(-1)?.[0] ?? 0) + 1) }, () => '');
  const cellFaults = new Map<number, CellFault>();
  const cellWords = new Map<number, readonly string[]>();
  let characters = 0;
  for (const [column, raw] of cells) {
    const { text, fault, words = [] } = readCell(raw, sense);
    texts[column] = text;
    characters += text.length;
    if (characters > recordBytesMax)
      throw new DamageError({ code: 'E_RECORD_SIZE', line, facts: { limit: recordBytesMax } });
    if (fault !== undefined) cellFaults.set(column, fault);
    if (words.length > 0) cellWords.set(column, words);
  }
  return {
    line,
    cells: texts,
    ...(cellFaults.size === 0 ? {} : { cellFaults }),
    ...(cellWords.size === 0 ? {} : { cellWords }),
  };
}
