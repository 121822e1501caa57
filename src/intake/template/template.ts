import type { Money } from '../../money.ts';
import type { CreditorMap } from '../pain001/creditors.ts';
import { type Column, isRequired } from './columns.ts';

export const DELIMITERS = [',', ';', '\t', '|'] as const;
export type Delimiter = (typeof DELIMITERS)[number];
export const DECIMAL_MARKS = ['.', ','] as const;
export const THOUSANDS_MARKS = [',', '.', ' ', "'"] as const;

/** How the payout files of one sender look; what it does not say is as in docs/payout-file.md. */
export interface Template {
  /** Null where no template was named. */
  readonly name: string | null;
  readonly description: string;
  readonly delimiter: Delimiter;
  readonly decimalMark: (typeof DECIMAL_MARKS)[number];
  /** The mark between groups of three digits; null: there is none, and one that stands there is refused. */
  readonly thousandsMark: (typeof THOUSANDS_MARKS)[number] | null;
  /** What the file calls a column that it does not call as we do. */
  readonly names: ReadonlyMap<Column, string>;
  /** Columns of the file, by name, that are not read. */
  readonly ignored: ReadonlySet<string>;
  /** The value of each row; a cell that says otherwise refuses the file. */
  readonly fixed: ReadonlyMap<Column, string>;
  /** Optional columns that each row has to fill. */
  readonly required: ReadonlySet<Column>;
  /** The only values that a column may have. */
  readonly allowed: ReadonlyMap<Column, ReadonlySet<string>>;
  readonly referenceCharacters: number | null;
  /** The largest amount of a payout in each currency that may occur; null: no limit but the service's. */
  readonly payoutMax: ReadonlyMap<string, Money> | null;
  /** The sheet of a workbook that is read; null: the only one with values. */
  readonly sheet: string | null;
  /** Null: payment messages are not taken. */
  readonly creditors: CreditorMap | null;
}

export const PLAIN_TEMPLATE: Template = {
  name: null,
  description: 'the payout file as docs/payout-file.md describes it',
  delimiter: ',',
  decimalMark: '.',
  thousandsMark: null,
  names: new Map(),
  ignored: new Set(),
  fixed: new Map(),
  required: new Set(),
  allowed: new Map(),
  referenceCharacters: null,
  payoutMax: null,
  sheet: null,
  creditors: null,
};

/** What the file calls a column. */
export function nameOf({ names }: Template, column: Column): string {
  return names.get(column) ?? column;
}

/** Whether each row has to have a value in the column. */
export function isDemanded({ required }: Template, column: Column): boolean {
  return isRequired(column) || required.has(column);
}

const DIGITS = /^[0-9]+$/;
const FIRST_GROUP = /^[0-9]{1,3}$/;
const GROUP = /^[0-9]{3}$/;
const BLANK = /[ \u00A0\u202F]/u;

/**
 * Reads the text of an amount into a plain decimal by the template's marks; undefined for what does not keep to them.
 * Thousands stand between groups of exactly three digits, or nowhere in the amount; a blank may be a no-break one.
 */
export function openAmountReader({ decimalMark, thousandsMark }: Template): (text: string) => string | undefined {
  if (decimalMark === '.' && thousandsMark === null) return (text) => text;
  return (text) => {
    const [whole = '', fraction, ...more] = text.split(decimalMark);
    const digits = DIGITS.test(whole) ? whole : ungrouped(whole, thousandsMark);
    if (digits === undefined || more.length > 0) return undefined;
    if (fraction === undefined) return digits;
    return DIGITS.test(fraction) ? `${digits}.${fraction}` : undefined;
  };
}

function ungrouped(whole: string, thousandsMark: string | null): string | undefined {
  if (thousandsMark === null) return undefined;
  const [first = '', ...others] = whole.split(thousandsMark === ' ' ? BLANK : thousandsMark);
  const isGrouped = others.length > 0 && FIRST_GROUP.test(first) && others.every((group) => GROUP.test(group));
  return isGrouped ? [first, ...others].join('') : undefined;
}
