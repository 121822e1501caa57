import { openXmlReader, type XmlElement, XmlError, type XmlListener } from '../xml.ts';
import { damaged, type Zip } from './zip.ts';

/** The namespaces of SpreadsheetML: as all programs write it, and its strict form (ISO/IEC 29500-1). */
const SPREADSHEET = new Set([
  'http://schemas.openxmlformats.org/spreadsheetml/2006/main',
  'http://purl.oclc.org/ooxml/spreadsheetml/main',
]);
const RELATIONSHIPS = [
  'http://schemas.openxmlformats.org/officeDocument/2006/relationships',
  'http://purl.oclc.org/ooxml/officeDocument/relationships',
];

/**
 * The XML of one part of a workbook, told to the listener; after each piece it gives what `take` gives. Throws a
 * DamageError for what is no XML in UTF-8.
 */
export async function* tellPart<Taken>(
  zip: Zip,
  name: string,
  { listener, take }: { listener: XmlListener; take: () => Taken },
): AsyncGenerator<Taken, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = openXmlReader(listener);
  try {
    for await (const piece of zip.read(name)) {
      reader.push(decoder.decode(piece, { stream: true }));
      yield take();
    }
    reader.push(decoder.decode());
    reader.end();
    yield take();
  } catch (error) {
    if (error instanceof XmlError) throw damaged(`in ${name}, ${error.message}`, error);
    if (error instanceof TypeError) throw damaged(`the text of ${name} is not UTF-8`, error);
    throw error;
  }
}

/** The whole of a small part at once. */
export async function readPart(zip: Zip, name: string, listener: XmlListener): Promise<void> {
  const pieces = tellPart(zip, name, { listener, take() {} });
  while ((await pieces.next()).done !== true);
}

/** Whether an element is one of SpreadsheetML; others are extensions that say nothing of values. */
export function isSpreadsheet({ uri }: XmlElement): boolean {
  return SPREADSHEET.has(uri);
}

/** The id by which an element names another part. */
export function relationOf(element: XmlElement): string | undefined {
  return RELATIONSHIPS.map((uri) => element.attribute('id', uri)).find((id) => id !== undefined);
}

/** A ZIP archive has no more parts. */
const RELATIONS_MAX = 10_000;

/** Another part that a part names. */
export interface Relation {
  /** The last word of its type, such as `worksheet`. */
  readonly kind: string;
  /** Its name in the archive. */
  readonly target: string;
}

/** The parts that a part names in its relationships part, by the ids of the relations; none where it has no such part. */
export async function readRelations(zip: Zip, part: string): Promise<ReadonlyMap<string, Relation>> {
  const folder = part.slice(0, part.lastIndexOf('/') + 1);
  const name = `${folder}_rels/${part.slice(folder.length)}.rels`;
  const relations = new Map<string, Relation>();
  if (!zip.has(name)) return relations;
  await readPart(zip, name, {
    open(element) {
      const { local } = element;
      if (local !== 'Relationship' || element.attribute('TargetMode') === 'External') return;
      const type = element.attribute('Type') ?? '';
      const target = new URL(element.attribute('Target') ?? '', `part:///${folder}`).pathname.slice(1);
      const id = element.attribute('Id') ?? '';
      if (!relations.has(id)) relations.set(id, { kind: type.slice(type.lastIndexOf('/') + 1), target });
      if (relations.size > RELATIONS_MAX) throw damaged('it names far too many parts');
    },
    text() {},
    close() {},
  });
  return relations;
}
