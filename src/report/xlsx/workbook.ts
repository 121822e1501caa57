import { PassThrough, Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { escapeMarkup } from '../xml-text.ts';
import { type Cell, columnName, rowXml } from './cell.ts';
import { stylesXml } from './styles.ts';

export interface Sheet {
  /** At most 25 characters, so that a number fits behind it. */
  readonly name: string;
  /** Of its columns, in characters. */
  readonly widths: readonly number[];
  /** Names of columns, which stay in view and can be filtered by; a sheet without them is no table. */
  readonly head?: readonly string[];
  /** Read once, when those of the sheets before it have been. */
  readonly rows: AsyncIterable<readonly (readonly Cell[])[]>;
  /** It is written after the others and shown before them. */
  readonly isShownFirst?: boolean;
}

export interface WorkbookOptions {
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** A sheet goes on in another one behind so many rows, its head included. */
  readonly rowsMax?: number;
}

/** Rows of a sheet (ISO/IEC 29500-1 leaves it open; this is what spreadsheets open). */
const ROWS_MAX = 1_048_576;
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const SPREADSHEET = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

/**
 * A workbook (ISO/IEC 29500 transitional) as bytes, made while it is taken: memory holds a batch of rows. Sheets are written
 * in their order. Throws what the rows throw.
 */
export async function* workbookBytes(
  sheets: readonly Sheet[],
  { createdAt, rowsMax = ROWS_MAX }: WorkbookOptions,
): AsyncGenerator<Buffer, void> {
  const zip = new ZipFile();
  const parts = new Set<Readable>();
  const output = new PassThrough();
  zip.outputStream.pipe(output);
  // A part that fails is told by its own stream.
  zip.on('error', () => {});

  async function addPart(name: string, text: AsyncIterable<string> | Iterable<string>): Promise<void> {
    const part = Readable.from(text);
    parts.add(part);
    zip.addReadStream(part, name, { mtime: new Date(createdAt) });
    await finished(part);
    parts.delete(part);
  }

  async function addAll(): Promise<void> {
    const names: { readonly name: string; readonly isShownFirst: boolean }[] = [];
    for (const sheet of sheets) {
      const rows = openRows(sheet.rows);
      for (let part = 1; part === 1 || (await rows.hasMore()); part++) {
        names.push({
          name: part === 1 ? sheet.name : `${sheet.name} ${part}`,
          isShownFirst: sheet.isShownFirst ?? false,
        });
        await addPart(`xl/worksheets/sheet${names.length}.xml`, sheetXml(sheet, rows, rowsMax));
      }
    }
    for (const [name, text] of Object.entries(fixedParts(names))) await addPart(name, [text]);
    zip.end();
  }

  const adding = addAll();
  adding.catch((error: unknown) => output.destroy(error instanceof Error ? error : new Error('a part failed')));
  try {
    yield* output;
    await adding;
  } finally {
    for (const part of parts) part.destroy();
  }
}

interface Rows {
  hasMore(): Promise<boolean>;
  /** The next ones, at most so many; none at the end. */
  take(most: number): Promise<readonly (readonly Cell[])[]>;
}

function openRows(batches: Sheet['rows']): Rows {
  const iterator = batches[Symbol.asyncIterator]();
  let kept: readonly (readonly Cell[])[] = [];

  async function hasMore(): Promise<boolean> {
    while (kept.length === 0) {
      const next = await iterator.next();
      if (next.done === true) return false;
      kept = next.value;
    }
    return true;
  }

  return {
    hasMore,
    async take(most) {
      if (!(await hasMore())) return [];
      const taken = kept.slice(0, most);
      kept = kept.slice(taken.length);
      return taken;
    },
  };
}

async function* sheetXml({ widths, head }: Sheet, rows: Rows, rowsMax: number): AsyncGenerator<string, void> {
  const pane = '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>';
  const columns = widths.map((width, at) => `<col min="${at + 1}" max="${at + 1}" width="${width}" customWidth="1"/>`);
  yield `${XML}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0">${head ? pane : ''}</sheetView></sheetViews>` +
    `<cols>${columns.join('')}</cols><sheetData>`;
  let row = 0;
  if (head !== undefined)
    yield rowXml(
      ++row,
      head.map((name) => ({ head: name })),
    );
  for (let taken = await rows.take(rowsMax - row); taken.length > 0; taken = await rows.take(rowsMax - row)) {
    yield taken.map((cells) => rowXml(++row, cells)).join('');
  }
  const filter = head === undefined ? '' : `<autoFilter ref="A1:${columnName(head.length - 1)}${row}"/>`;
  yield `</sheetData>${filter}</worksheet>`;
}

/** The parts that say what the others are. */
function fixedParts(
  names: readonly { readonly name: string; readonly isShownFirst: boolean }[],
): Record<string, string> {
  const numbered = names.map(({ name, isShownFirst }, at) => ({ name, isShownFirst, number: at + 1 }));
  const shown = [...numbered.filter((one) => one.isShownFirst), ...numbered.filter((one) => !one.isShownFirst)];
  const overrides = numbered.map(({ number }) => override(`/xl/worksheets/sheet${number}.xml`, 'worksheet'));
  const sheets = shown.map(
    ({ name, number }) => `<sheet name="${escapeMarkup(name)}" sheetId="${number}" r:id="r${number}"/>`,
  );
  return {
    'xl/styles.xml': stylesXml(),
    'xl/workbook.xml': `${XML}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONSHIPS}"><sheets>${sheets.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relationships([
      ...numbered.map(({ number }) => ['worksheet', `worksheets/sheet${number}.xml`] as const),
      ['styles', 'styles.xml'],
    ]),
    '_rels/.rels': relationships([['officeDocument', 'xl/workbook.xml']]),
    '[Content_Types].xml':
      `${XML}<Types xmlns="${PACKAGE}/content-types">` +
      `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
      `<Default Extension="xml" ContentType="application/xml"/>` +
      `${override('/xl/workbook.xml', 'sheet.main')}${override('/xl/styles.xml', 'styles')}${overrides.join('')}</Types>`,
  };
}

function override(part: string, kind: string): string {
  return `<Override PartName="${part}" ContentType="${SPREADSHEET}.${kind}+xml"/>`;
}

function relationships(targets: readonly (readonly [kind: string, target: string])[]): string {
  const items = targets.map(
    ([kind, target], at) => `<Relationship Id="r${at + 1}" Type="${RELATIONSHIPS}/${kind}" Target="${target}"/>`,
  );
  return `${XML}<Relationships xmlns="${PACKAGE}/relationships">${items.join('')}</Relationships>`;
}
