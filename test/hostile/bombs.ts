import { gzipSync } from 'node:zlib';
import { partsOf, rowXml, zipOf } from '../intake/workbook-file.ts';

const HEADER = 'reference,beneficiaryIdentityId,amount,amountType,sourceCurrency,destinationCurrency'.split(',');
const SHEET = 'xl/worksheets/sheet1.xml';
const DEEP = 20_000;

/** A workbook of some kilobytes with a sheet of so many blanks. */
export function packedBlanks(bytes: number): Buffer {
  return zipOf(blanks(bytes));
}

function blanks(bytes: number): Record<string, string> {
  return partsOf({ sheets: [{ rows: rowXml(1, HEADER), after: `<x>${' '.repeat(bytes)}</x>` }] });
}

/** Files that become large when they are unpacked, or hold what does; the first problem of each. */
export const HOSTILE_ARCHIVES: readonly (readonly [what: string, name: string, make: () => Buffer, code: string])[] = [
  [
    'a sheet of 20 million blanks that claims to have ten',
    'hostile.xlsx',
    () => zipOf(blanks(20_000_000), { [SHEET]: { bytes: 10 } }),
    'E_WORKBOOK',
  ],
  [
    'archives within archives',
    'hostile.xlsx',
    () => Array.from({ length: 20 }).reduce<Buffer>((inner) => zipOf({ a: inner, b: inner }), packedBlanks(1000)),
    'E_WORKBOOK',
  ],
  [
    '60,000 parts',
    'hostile.xlsx',
    () => zipOf(Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`xl/${at}`, '']))),
    'E_WORKBOOK',
  ],
  ['a hundred million bytes as gzip', 'hostile.csv', () => gzipSync(Buffer.alloc(100_000_000, 'a,')), 'E_TYPE'],
];

/** Bodies of requests to the API, each with the status that refuses it. */
export const HOSTILE_BODIES: readonly (readonly [
  what: string,
  headers: Readonly<Record<string, string>>,
  make: () => string | Buffer,
  status: number,
])[] = [
  ['JSON deeper than anybody needs', json(), () => `{"reason":${'['.repeat(DEEP)}${']'.repeat(DEEP)}}`, 400],
  ['objects deeper than anybody needs', json(), () => `${'{"reason":'.repeat(5000)}1${'}'.repeat(5000)}`, 400],
  ['members that nobody knows', json(), () => `{${numbered(6000, (at) => `"${at}":1`)}}`, 400],
  ['one member over and over', json(), () => `{${numbered(4000, () => '"reason":"x"')}}`, 400],
  ['a number of 60,000 digits', json(), () => `{"reason":${'1'.repeat(60_000)}}`, 400],
  ['a number of which nothing is left', json(), () => '{"reason":1e-999999999}', 400],
  ['escapes', json(), () => `{"reason":"${'\\u0000'.repeat(10_000)}"}`, 400],
  ['a quote that is never closed', json(), () => `{"reason":"${'\\'.repeat(60_001)}`, 400],
  ['blanks', json(), () => ' '.repeat(60_000), 400],
  ['a text that is too large', json(), () => `{"reason":"${'x'.repeat(70_000)}"}`, 413],
  [
    'ten million blanks as gzip',
    { ...json(), 'content-encoding': 'gzip' },
    () => gzipSync(Buffer.alloc(10_000_000, ' ')),
    400,
  ],
];

function json(): Record<string, string> {
  return { 'content-type': 'application/json' };
}

function numbered(count: number, member: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => member(at)).join(',');
}

/** A form of so many parts, after the token of a session. */
export function manyParts(count: number, csrf: string): FormData {
  const form = new FormData();
  form.set('csrf', csrf);
  for (let at = 0; at < count; at++) form.append(`field${at}`, 'x');
  return form;
}
