/** What the first bytes of a file betray; enough of them to tell all the kinds below apart. */
export const HEAD_BYTES = 8;

export interface ForeignType {
  readonly code: 'E_TYPE' | 'E_ENCODING';
  /** What the file is, as a piece of a sentence. */
  readonly found: string;
}

const ZIP = 'a ZIP archive or an Excel workbook (.xlsx)';

/** UTF-32 stands before UTF-16: its mark begins with the other's. */
const SIGNATURES: readonly (ForeignType & { readonly bytes: readonly number[] })[] = [
  { bytes: [0x50, 0x4b, 0x03, 0x04], code: 'E_TYPE', found: ZIP },
  { bytes: [0x50, 0x4b, 0x05, 0x06], code: 'E_TYPE', found: ZIP },
  { bytes: [0x50, 0x4b, 0x07, 0x08], code: 'E_TYPE', found: ZIP },
  { bytes: [0xd0, 0xcf, 0x11, 0xe0], code: 'E_TYPE', found: 'an old Excel or Word document' },
  { bytes: [0x25, 0x50, 0x44, 0x46, 0x2d], code: 'E_TYPE', found: 'a PDF document' },
  { bytes: [0x7b, 0x5c, 0x72, 0x74, 0x66], code: 'E_TYPE', found: 'an RTF document' },
  { bytes: [0x1f, 0x8b], code: 'E_TYPE', found: 'a gzip archive' },
  { bytes: [0x42, 0x5a, 0x68], code: 'E_TYPE', found: 'a bzip2 archive' },
  { bytes: [0xfd, 0x37, 0x7a, 0x58, 0x5a], code: 'E_TYPE', found: 'an xz archive' },
  { bytes: [0x37, 0x7a, 0xbc, 0xaf], code: 'E_TYPE', found: 'a 7-Zip archive' },
  { bytes: [0x28, 0xb5, 0x2f, 0xfd], code: 'E_TYPE', found: 'a zstd archive' },
  { bytes: [0x52, 0x61, 0x72, 0x21, 0x1a], code: 'E_TYPE', found: 'a RAR archive' },
  { bytes: [0x89, 0x50, 0x4e, 0x47], code: 'E_TYPE', found: 'a PNG image' },
  { bytes: [0xff, 0xd8, 0xff], code: 'E_TYPE', found: 'a JPEG image' },
  { bytes: [0x47, 0x49, 0x46, 0x38], code: 'E_TYPE', found: 'a GIF image' },
  { bytes: [0xff, 0xfe, 0x00, 0x00], code: 'E_ENCODING', found: 'it is UTF-32' },
  { bytes: [0x00, 0x00, 0xfe, 0xff], code: 'E_ENCODING', found: 'it is UTF-32' },
  { bytes: [0xff, 0xfe], code: 'E_ENCODING', found: 'it is UTF-16' },
  { bytes: [0xfe, 0xff], code: 'E_ENCODING', found: 'it is UTF-16' },
];

/** What a CSV file is called where one is expected. */
export const CSV = 'a CSV file';
const XML: ForeignType = { code: 'E_TYPE', found: 'a payment message (XML)' };
/** Behind a byte order mark or none. */
const XML_STARTS = /^(?:\xef\xbb\xbf)?<(?:\?xml|Docu)/;

/**
 * The foreign type of a file by its first bytes, never by its name; undefined for
 * what may be a UTF-8 text. Text whose first or second byte is NUL is UTF-16 without a mark.
 */
export function foreignTypeOf(head: Uint8Array, expected: string): ForeignType | undefined {
  const signature = SIGNATURES.find(({ bytes }) => bytes.every((byte, at) => head[at] === byte));
  if (signature !== undefined) return signature;
  if (expected === CSV && XML_STARTS.test(Buffer.from(head).toString('latin1'))) return XML;
  if (head.length >= 2 && (head[0] === 0) !== (head[1] === 0)) {
    return { code: 'E_ENCODING', found: 'it seems to be UTF-16 without a byte order mark' };
  }
  return undefined;
}
