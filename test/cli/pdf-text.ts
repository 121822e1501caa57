import { inflateSync } from 'node:zlib';

/** A PDF as Chromium writes it (ISO 32000): how many pages it has, and their text without blanks. */
export interface PdfText {
  readonly pages: number;
  readonly text: string;
}

/** What an object of the file says, and its stream, unpacked. */
interface PdfObject {
  readonly head: string;
  readonly stream: string;
}

/** The codes of a font, each of so many hexadecimal digits, and the characters that they stand for. */
interface Font {
  readonly digits: number;
  readonly characters: ReadonlyMap<string, string>;
}

/** Throws for what is no PDF. */
export function readPdf(bytes: Buffer): PdfText {
  const file = bytes.toString('latin1');
  if (!file.startsWith('%PDF-')) throw new Error('it is no PDF');
  const objects = new Map(
    [...file.matchAll(/([0-9]+) 0 obj\s(.*?)endobj/gs)].map(([, id = '', body = '']) => [id, objectOf(body)]),
  );
  const pages = [...objects.values()].filter(({ head }) => /\/Type \/Page\b(?!s)/.test(head));
  const names = [...file.matchAll(/\/Font <<(.*?)>>/gs)].flatMap(([, inner = '']) => [
    ...inner.matchAll(/\/(F[0-9]+) ([0-9]+) 0 R/g),
  ]);
  const fonts = new Map(names.map(([, name = '', id = '']) => [name, fontOf(objects, id)]));
  const contents = pages.map(({ head }) => objects.get(/\/Contents ([0-9]+) 0 R/.exec(head)?.[1] ?? '')?.stream ?? '');
  return {
    pages: pages.length,
    text: contents
      .map((content) => shown(content, fonts))
      .join('')
      .replaceAll(/\s/g, ''),
  };
}

function objectOf(body: string): PdfObject {
  const [head = '', packed] = body.split(/stream\r?\n/, 2);
  const bytes = Buffer.from(packed ?? '', 'latin1');
  const isPacked = packed !== undefined && head.includes('/FlateDecode');
  return { head, stream: isPacked ? inflateSync(bytes).toString('latin1') : bytes.toString('latin1') };
}

function fontOf(objects: ReadonlyMap<string, PdfObject>, id: string): Font {
  const { head = '' } = objects.get(id) ?? {};
  const map = objects.get(/\/ToUnicode ([0-9]+) 0 R/.exec(head)?.[1] ?? '')?.stream ?? '';
  const digits = head.includes('/Subtype /Type0') ? 4 : 2;
  const characters = new Map<string, string>();
  const put = (first: string, last: string, to: string): void => {
    const start = Number.parseInt(first, 16);
    for (let code = start; code <= Number.parseInt(last, 16); code++) {
      const character = String.fromCharCode(Number.parseInt(to, 16) + code - start);
      characters.set(code.toString(16).padStart(digits, '0'), character);
    }
  };
  for (const [, code = '', to = ''] of map.matchAll(/^<([0-9a-f]+)> <([0-9a-f]+)>$/gim)) put(code, code, to);
  for (const [, first = '', last = '', to = ''] of map.matchAll(/^<([0-9a-f]+)> <([0-9a-f]+)> <([0-9a-f]+)>$/gim))
    put(first, last, to);
  return { digits, characters };
}

/** The characters of a page in the order in which they are drawn. */
function shown(content: string, fonts: ReadonlyMap<string, Font>): string {
  let font: Font | undefined;
  let text = '';
  for (const [, name, hex = ''] of content.matchAll(/\/(F[0-9]+) [0-9.]+ Tf|<([0-9A-F]+)>/g)) {
    if (name !== undefined) font = fonts.get(name);
    text += font === undefined ? '' : charactersOf(font, hex);
  }
  return text;
}

function charactersOf({ digits, characters }: Font, hex: string): string {
  const codes = hex.toLowerCase().match(new RegExp(`.{${digits}}`, 'g')) ?? [];
  return codes.map((code) => characters.get(code) ?? '').join('');
}
