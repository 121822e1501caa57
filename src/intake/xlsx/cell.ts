import { decimalOfNumber } from '../../money.ts';
import type { CellFault } from '../cells.ts';
import type { ProblemCode } from '../problems.ts';
import type { SharedTexts } from './shared-texts.ts';
import { damaged } from './zip.ts';

/** A cell as it stands in the sheet's XML. */
export interface RawCell {
  /** Its type: `s`, `str`, `inlineStr`, `n`, `b`, `e` or `d` (ISO/IEC 29500-1, 18.18.11). */
  readonly type: string;
  readonly style: number;
  readonly hasFormula: boolean;
  /** What stands in `v`, or in `is` where the text is the cell's own. */
  readonly text: string;
}

/** What all cells of a workbook are read with. */
export interface CellSense {
  readonly texts: SharedTexts;
  readonly numberFault: (style: number) => ProblemCode | undefined;
  readonly decimalMark: string;
}

/** A cell's text as a payout file would have it, or what is wrong with the cell. */
export interface CellText {
  readonly text: string;
  readonly fault?: CellFault;
}

const NUMBER = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
/** Spreadsheets keep so many digits of a number; what they write beyond them is the error of binary fractions. */
const DIGITS_MAX = 15;
const WRITTEN_DIGITS_MAX = 17;

export function readCell(cell: RawCell, sense: CellSense): CellText {
  const { type, text } = cell;
  if (cell.hasFormula) return { text, fault: { code: 'E_FORMULA' } };
  switch (type) {
    case 's':
      return { text: sharedText(text, sense.texts) };
    case 'str':
    case 'inlineStr':
    case 'e':
      return { text };
    case 'b':
      return { text: text === '1' ? 'TRUE' : 'FALSE' };
    case 'd':
      return { text, fault: { code: 'E_DATE' } };
    case 'n':
    case '':
      return readNumber(cell, sense);
    default:
      throw damaged('a cell has a type that there is not');
  }
}

function sharedText(index: string, texts: SharedTexts): string {
  const text = /^[0-9]{1,9}$/.test(index) ? texts.get(Number(index)) : undefined;
  if (text === undefined) throw damaged('a cell names a text that is not there');
  return text;
}

/**
 * A number by its shortest decimal text: the file holds a binary fraction, and spreadsheets write 4.35 as
 * 4.3499999999999996. One with more than 15 digits is none that a person entered.
 */
function readNumber({ text, style }: RawCell, { numberFault, decimalMark }: CellSense): CellText {
  if (text === '') return { text };
  if (!NUMBER.test(text)) throw damaged('a cell that should be a number is none');
  const decimal = decimalOfNumber(Number(text));
  if (decimal === undefined || digitsIn(text) > WRITTEN_DIGITS_MAX || digitsIn(decimal) > DIGITS_MAX) {
    return { text, fault: { code: 'E_PRECISION', facts: { limit: DIGITS_MAX } } };
  }
  const fault = numberFault(style);
  const shown = decimal.replace('.', decimalMark);
  return fault === undefined ? { text: shown } : { text: shown, fault: { code: fault } };
}

/** Digits that count: neither zeros at the head nor, in a whole number, those at the end. */
function digitsIn(decimal: string): number {
  const digits = decimal.replace(/[eE].*$/, '').replace(/^-?[0.]*/, '');
  return (digits.includes('.') ? digits.replace('.', '') : digits.replace(/0+$/, '')).length;
}
