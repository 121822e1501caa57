import { decimalOfNumber } from '../../money.ts';
import { withoutTrailing } from '../../trailing.ts';
import { showValue } from '../problems/shown-value.ts';
import type { CellFault } from '../row/cells.ts';
import type { NumberFormat } from './number-format.ts';
import type { SharedTexts } from './shared-texts.ts';
import type { FormatOf } from './styles.ts';
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
  readonly formatOf: FormatOf;
  readonly decimalMark: string;
}

/** A cell's text as a payout file would have it, or what is wrong with the cell. */
export interface CellText {
  readonly text: string;
  readonly fault?: CellFault;
  /** What its format shows beside a number. */
  readonly words?: readonly string[];
}

const NUMBER = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
/** Spreadsheets keep so many digits of a number; what they write beyond them is the error of binary fractions. */
const DIGITS_MAX = 15;
const WRITTEN_DIGITS_MAX = 17;
/** No program writes a number with more. */
const NUMBER_CHARACTERS_MAX = 400;

export function readCell(cell: RawCell, sense: CellSense): CellText {
  const { type, text, style } = cell;
  const format = sense.formatOf(style);
  if (cell.hasFormula) return { text, fault: { code: 'E_FORMULA' } };
  switch (type) {
    case 's':
      return asText(sharedText(text, sense.texts), format);
    case 'str':
    case 'inlineStr':
      return asText(text, format);
    case 'e':
      return { text };
    case 'b':
      return { text: text === '1' ? 'TRUE' : 'FALSE' };
    case 'd':
      return { text, fault: { code: 'E_DATE' } };
    case 'n':
    case '':
      return readNumber(text, format, sense);
    default:
      throw damaged('a cell has a type that there is not');
  }
}

function asText(text: string, { showsText }: NumberFormat): CellText {
  return showsText ? { text } : { text, fault: shownOtherwise('its format does not show the text as it stands') };
}

function shownOtherwise(found: string): CellFault {
  return { code: 'E_NUMBER_FORMAT', facts: { found } };
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
function readNumber(text: string, format: NumberFormat, { decimalMark }: CellSense): CellText {
  if (text === '') return { text };
  if (text.length > NUMBER_CHARACTERS_MAX) throw damaged('a number in it has far too many digits');
  if (!NUMBER.test(text)) throw damaged('a cell that should be a number is none');
  const decimal = decimalOfNumber(Number(text));
  if (decimal === undefined || digitsIn(text) > WRITTEN_DIGITS_MAX || digitsIn(decimal) > DIGITS_MAX) {
    return { text, fault: { code: 'E_PRECISION', facts: { limit: DIGITS_MAX } } };
  }
  const written = decimal.replace('.', decimalMark);
  if (format.isDate) return { text: written, fault: { code: 'E_DATE' } };
  // No column takes a number below zero, whatever it looks like.
  if (decimal.startsWith('-')) return { text: written };
  const shown = format.show(decimal);
  if (shown === undefined) return { text: written, fault: shownOtherwise('its format makes no plain number of it') };
  if (isSame(shown.number, decimal)) return { text: written, words: shown.words };
  return { text: written, fault: shownOtherwise(`its format makes it ${showValue(null, shown.number)}`) };
}

/** Zeros at the end of a fraction make no difference; those at the head of a number do. */
function isSame(shown: string, decimal: string): boolean {
  return (shown.includes('.') ? withoutTrailing(withoutTrailing(shown, '0'), '.') : shown) === decimal;
}

/** Digits that count: all but the zeros at the head. Those at the end of a long reference may have been others. */
function digitsIn(decimal: string): number {
  const [mantissa = ''] = decimal.split(/[eE]/, 1);
  const digits = mantissa.replace(/^-?[0.]*/, '');
  return digits.replace('.', '').length;
}
