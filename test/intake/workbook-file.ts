import { crc32, deflateRawSync } from 'node:zlib';

/** How a part of an archive departs from what is right. */
export interface PartFlaws {
  readonly crc?: number;
  readonly bytes?: number;
  readonly method?: number;
  readonly flags?: number;
  readonly localName?: string;
}

/** A ZIP archive of these parts, deflated. */
export function zipOf(
  parts: Readonly<Record<string, string | Buffer>>,
  flaws: Readonly<Record<string, PartFlaws>> = {},
): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(parts)) {
    const flaw = flaws[name] ?? {};
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0);
    head.writeUInt16LE(flaw.flags ?? 0, 2);
    head.writeUInt16LE(flaw.method ?? 8, 4);
    head.writeUInt32LE(flaw.crc ?? crc32(bytes), 10);
    head.writeUInt32LE(packed.length, 14);
    head.writeUInt32LE(flaw.bytes ?? bytes.length, 18);
    head.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), head, Buffer.from(flaw.localName ?? name), packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000'), head, rest, Buffer.from(name)]));
    bodies.push(local);
    offset += local.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006');
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, list, end]);
}

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONSHIPS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

export interface SheetXml {
  readonly name?: string;
  readonly state?: string;
  /** What stands before the rows, such as `<cols>`. */
  readonly before?: string;
  readonly rows: string;
  /** What stands behind them, such as `<mergeCells>`. */
  readonly after?: string;
}

export interface WorkbookXml {
  readonly sheets: readonly SheetXml[];
  /** The `<si>` elements. */
  readonly texts?: string;
  /** Format codes of the styles 1, 2 and so on; a number is the id of a built-in one. */
  readonly formats?: readonly (string | number)[];
}

function relations(...targets: readonly (readonly [kind: string, target: string])[]): string {
  const items = targets.map(
    ([kind, target], at) => `<Relationship Id="r${at}" Type="${RELATIONSHIPS}/${kind}" Target="${target}"/>`,
  );
  return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${items.join('')}</Relationships>`;
}

/** The parts of a workbook, as a spreadsheet would write them. */
export function partsOf({ sheets, texts = '', formats = [] }: WorkbookXml): Record<string, string> {
  const entries = sheets.map(
    ({ name = `Sheet${sheets.length}`, state }, at) =>
      `<sheet name="${name}" sheetId="${at + 1}" ${state === undefined ? '' : `state="${state}"`} r:id="r${at}"/>`,
  );
  const custom = formats.map((code, at) =>
    typeof code === 'number' ? '' : `<numFmt numFmtId="${200 + at}" formatCode="${code.replaceAll('"', '&quot;')}"/>`,
  );
  const styles = formats.map((code, at) => `<xf numFmtId="${typeof code === 'number' ? code : 200 + at}"/>`);
  const sheetParts = sheets.map(({ before = '', rows, after = '' }, at): [string, string] => [
    `xl/worksheets/sheet${at + 1}.xml`,
    `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<worksheet xmlns="${MAIN}">${before}<sheetData>${rows}</sheetData>${after}</worksheet>`,
  ]);
  return {
    '[Content_Types].xml': '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    '_rels/.rels': relations(['officeDocument', 'xl/workbook.xml']),
    'xl/workbook.xml': `<workbook xmlns="${MAIN}" xmlns:r="${RELATIONSHIPS}"><sheets>${entries.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': relations(
      ...sheets.map((_, at) => ['worksheet', `worksheets/sheet${at + 1}.xml`] as const),
      ['sharedStrings', 'sharedStrings.xml'],
      ['styles', '/xl/styles.xml'],
    ),
    'xl/sharedStrings.xml': `<sst xmlns="${MAIN}">${texts}</sst>`,
    'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><numFmts>${custom.join('')}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${styles.join('')}</cellXfs></styleSheet>`,
    ...Object.fromEntries(sheetParts),
  };
}

export function workbookOf(xml: WorkbookXml): Buffer {
  return zipOf(partsOf(xml));
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** A row of cells: texts as inline strings, and cells that are given as XML, which begin with `<`, as they are. */
export function rowXml(line: number, cells: readonly string[], attributes = ''): string {
  const written = cells.map((cell, at) => {
    const place = `${String.fromCharCode(65 + at)}${line}`;
    if (cell === '') return '';
    if (cell.startsWith('<')) return cell.replace('<c', `<c r="${place}"`);
    return `<c r="${place}" t="inlineStr"><is><t xml:space="preserve">${escaped(cell)}</t></is></c>`;
  });
  return `<row r="${line}" ${attributes}>${written.join('')}</row>`;
}
