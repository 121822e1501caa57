import { cleanText, escapeMarkup } from '../xml-text.ts';
import { DIGITS_MAX, STYLES } from './styles.ts';

/**
 * A cell of a workbook: text, which stays as it is; a whole number; an exact decimal, shown with the digits that it has;
 * a time in milliseconds since 1970; the name of a column; or nothing. There are none for formulas.
 */
export type Cell =
  | string
  | number
  | null
  | { readonly decimal: string }
  | { readonly time: number }
  | { readonly head: string };

const DECIMAL = /^-?(?:0|[1-9][0-9]*)(?:\.([0-9]+))?$/;
/** A spreadsheet keeps so many digits of a number; one with more would come back as another. */
const SIGNIFICANT_DIGITS_MAX = 15;
const DAY_MS = 24 * 60 * 60 * 1000;
/** 1970-01-01, as days are counted in a workbook (ISO/IEC 29500-1, 18.17.4.1). */
const DAYS_TO_1970 = 25_569;
/** What a reader would take for the escape of a character (ISO/IEC 29500-1, 22.4.2.4). */
const LIKE_AN_ESCAPE = /_(?=x[0-9A-Fa-f]{4}_)/g;

/** A row of a sheet, as XML. Cells without a value are left out. */
export function rowXml(number: number, cells: readonly Cell[]): string {
  const inside = cells.map((cell, index) => cellXml(`${columnName(index)}${number}`, cell)).join('');
  return `<row r="${number}">${inside}</row>`;
}

/** The letters of a column, counted from 0. */
export function columnName(index: number): string {
  const last = String.fromCharCode('A'.charCodeAt(0) + (index % 26));
  return index < 26 ? last : `${columnName(Math.floor(index / 26) - 1)}${last}`;
}

function cellXml(place: string, cell: Cell): string {
  if (cell === null || cell === '') return '';
  if (typeof cell === 'string') return textXml(place, cell, STYLES.text);
  if (typeof cell === 'number') return numberXml(place, String(cell), STYLES.decimal(0));
  if ('head' in cell) return textXml(place, cell.head, STYLES.head);
  if ('time' in cell) return numberXml(place, String(cell.time / DAY_MS + DAYS_TO_1970), STYLES.time);
  return decimalXml(place, cell.decimal);
}

/** A decimal that a spreadsheet could not keep exactly is text. */
function decimalXml(place: string, decimal: string): string {
  const match = DECIMAL.exec(decimal);
  const digits = match?.[1]?.length ?? 0;
  const isKept = match !== null && digits <= DIGITS_MAX && significantDigits(decimal) <= SIGNIFICANT_DIGITS_MAX;
  return isKept ? numberXml(place, decimal, STYLES.decimal(digits)) : textXml(place, decimal, STYLES.text);
}

function significantDigits(decimal: string): number {
  return decimal.replace(/^-?[0.]*/, '').replace('.', '').length;
}

function numberXml(place: string, value: string, style: number): string {
  return `<c r="${place}" s="${style}"><v>${value}</v></c>`;
}

function textXml(place: string, text: string, style: number): string {
  const safe = escapeMarkup(cleanText(text)).replace(LIKE_AN_ESCAPE, '_x005F_');
  return `<c r="${place}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${safe}</t></is></c>`;
}
