import { digitsOf } from '../../money.ts';
import { AMOUNT_TYPES, SOURCES_OF_CASH } from '../../payout.ts';
import type { ProblemCode } from '../problems/problem-kinds.ts';
import type { Facts } from '../problems/problems.ts';
import type { Column } from '../template/columns.ts';
import { mangledReference, oddReference } from './mangled-reference.ts';

/** What is wrong with one cell. */
export interface CellFault {
  readonly code: ProblemCode;
  readonly facts?: Facts;
  /** In place of the remedy of its kind. */
  readonly remedy?: string;
  /** What the payer's own copy of the file shows, where problems show less. */
  readonly copyText?: string;
}

interface CellRule {
  readonly code: ProblemCode;
  readonly accepts: (value: string) => boolean;
  /** Cells of free text need a look at what every cell is checked for, even when the rule accepts them. */
  readonly isFreeText: boolean;
  /** What is wrong with a value that the rule does not accept, as the rest of a sentence. */
  readonly explain: (value: string) => string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const REFERENCE = /^[A-Za-z0-9](?:[A-Za-z0-9 ._/#+:(),'-]{0,34}[A-Za-z0-9._/#+:(),'-])?$/;
const REFERENCE_CHARACTERS_MAX = 36;
/** Letters of any script, digits, punctuation, symbols and plain blanks. */
const CATEGORY = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]{1,128}$/u;
const CATEGORY_CHARACTERS_MAX = 128;
const PURPOSE_CODE = /^[A-Za-z0-9_-]{1,35}$/;
const PURPOSE_CODE_CHARACTERS_MAX = 35;
const COUNTRY = /^[A-Z]{2}$/;

/** A value that none of the checks below can have anything against, but for the words and numbers that follow. */
const PLAIN = /^[A-Za-z0-9](?:[A-Za-z0-9 ._/#-]*[A-Za-z0-9._/#-])?$/;
const PLACEHOLDER = /^(?:true|false|null|undefined|nan|n\/a|[-–—]+)$/i;
/** As a spreadsheet writes it, with a sign and at least two digits: 1.23457E+15. */
const SCIENTIFIC = /^[+-]?[0-9](?:[.,][0-9]+)?E[+-][0-9]{2,}$/i;
/** Control, format (bidirectional, zero-width), private and unassigned characters; line and paragraph separators. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u;
const BLANK_AT_EDGE = /^\s|\s$/u;
const QUOTE_AT_EDGE = /^['"`´‘’‚‛“”„‟«»‹›]|['"`´‘’‚‛“”„‟«»‹›]$/u;
const SPREADSHEET_ERROR = /^#(?:#+|[\p{Lu}/0-9_]+[!?]|N\/[AV]|GETTING_DATA)$/u;
/** Also behind a semicolon, where a spreadsheet may cut the text, and behind the apostrophe that a copy has there. */
const FORMULA = /^[=+\-@＝＋－＠﹦﹢﹣﹫]|;[\s']*[=+\-@＝＋－＠﹦﹢﹣﹫]/u;
const AMOUNT_FORMULA = /^[=@＝＠﹦﹫]/u;
const FOREIGN_LETTER = /(?![A-Za-z])\p{L}/u;

const identityRule = (code: ProblemCode): CellRule => ({
  code,
  accepts: (value) => UUID.test(value),
  isFreeText: false,
  explain: (value) =>
    FOREIGN_LETTER.test(value)
      ? 'has letters in it that only look like a to f'
      : 'is no UUID: 32 digits 0-9 and a-f in groups of 8-4-4-4-12',
});

const currencyRule: CellRule = {
  code: 'E_CURRENCY',
  accepts: (value) => digitsOf(value) !== undefined,
  isFreeText: false,
  explain: (value) =>
    digitsOf(value.toUpperCase()) === undefined
      ? 'is not in the list of ISO 4217 currencies'
      : 'must be in capital letters',
};

const countryRule: CellRule = {
  code: 'E_COUNTRY',
  accepts: (value) => COUNTRY.test(value),
  isFreeText: false,
  explain: () => 'is not a code of two capital letters',
};

const categoryRule: CellRule = {
  code: 'E_CATEGORY',
  accepts: (value) => CATEGORY.test(value),
  isFreeText: true,
  explain: (value) =>
    value.length > CATEGORY_CHARACTERS_MAX
      ? `is longer than ${CATEGORY_CHARACTERS_MAX} characters`
      : 'has a character in it that cannot be printed',
};

/** The rule of each column but the amount, whose digits depend on its currency. */
const RULES: Readonly<Record<Exclude<Column, 'amount'>, CellRule>> = {
  reference: {
    code: 'E_REFERENCE',
    accepts: (value) => REFERENCE.test(value),
    isFreeText: true,
    explain: (value) =>
      value.length > REFERENCE_CHARACTERS_MAX
        ? `is longer than ${REFERENCE_CHARACTERS_MAX} characters`
        : 'has a character in it that is not allowed, or not as the first',
  },
  beneficiaryIdentityId: identityRule('E_BENEFICIARY'),
  originatorIdentityId: identityRule('E_ORIGINATOR'),
  sourceCurrency: currencyRule,
  destinationCurrency: currencyRule,
  amountType: {
    code: 'E_AMOUNT_TYPE',
    accepts: (value) => AMOUNT_TYPES.some((type) => type === value),
    isFreeText: false,
    explain: () => 'is not known',
  },
  sourceCountry: countryRule,
  destinationCountry: countryRule,
  payoutCategory: categoryRule,
  payinCategory: categoryRule,
  purposeCode: {
    code: 'E_PURPOSE_CODE',
    accepts: (value) => PURPOSE_CODE.test(value),
    isFreeText: true,
    explain: (value) =>
      value.length > PURPOSE_CODE_CHARACTERS_MAX
        ? `is longer than ${PURPOSE_CODE_CHARACTERS_MAX} characters`
        : 'has a character in it that is not allowed',
  },
  sourceOfCash: {
    code: 'E_SOURCE_OF_CASH',
    accepts: (value) => SOURCES_OF_CASH.some((source) => source === value),
    isFreeText: false,
    explain: () => 'is not one of the 16 codes',
  },
};

/** The code of a column's own rule. */
export function codeOfColumn(column: Column): ProblemCode {
  return column === 'amount' ? 'E_AMOUNT' : RULES[column].code;
}

/** What is wrong with a cell that is not empty, in any column but the amount. */
export function cellFault(column: Exclude<Column, 'amount'>, value: string): CellFault | undefined {
  const rule = RULES[column];
  const isAccepted = rule.accepts(value);
  if (isAccepted && !rule.isFreeText) return undefined;
  const fault = commonFault(value, FORMULA) ?? (column === 'reference' ? referenceFault(value) : undefined);
  if (fault !== undefined || isAccepted) return fault;
  return { code: rule.code, facts: { found: rule.explain(value) } };
}

function referenceFault(value: string): CellFault | undefined {
  const code = mangledReference(value);
  return code === undefined ? undefined : { code };
}

/** What is wrong with the text of an amount that does not keep to the decimal mark. */
export function amountFault(value: string, decimalMark: string): CellFault {
  const facts = { found: explainAmount(value), example: `1234${decimalMark}56` };
  return commonFault(value, AMOUNT_FORMULA) ?? { code: 'E_AMOUNT', facts };
}

/** Marks that a spreadsheet, an editor or a copied text leaves in a cell, whatever its column. */
function commonFault(value: string, formula: RegExp): CellFault | undefined {
  if (PLACEHOLDER.test(value)) return { code: 'E_PLACEHOLDER' };
  if (SCIENTIFIC.test(value)) return { code: 'E_SCIENTIFIC' };
  if (PLAIN.test(value)) return undefined;
  if (value.includes('\uFFFD')) return { code: 'E_REPLACEMENT_CHAR' };
  const unseen = UNSEEN.exec(value)?.[0];
  if (unseen !== undefined) return { code: 'E_CONTROL', facts: { found: nameOfCharacter(unseen) } };
  if (BLANK_AT_EDGE.test(value)) return { code: 'E_SPACE' };
  if (SPREADSHEET_ERROR.test(value)) return { code: 'E_EXCEL_ERROR' };
  if (formula.test(value)) return { code: 'E_FORMULA' };
  if (QUOTE_AT_EDGE.test(value)) return { code: 'E_QUOTE_CHAR' };
  return undefined;
}

const CHARACTER_NAMES: ReadonlyMap<string, string> = new Map([
  ['\n', 'a line end'],
  ['\r', 'a carriage return'],
  ['\t', 'a tab'],
  ['\u200B', 'a zero-width space'],
  ['\uFEFF', 'a byte order mark'],
]);

function nameOfCharacter(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const name = CHARACTER_NAMES.get(character);
  return name === undefined ? `U+${hex}` : `${name} (U+${hex})`;
}

const AMOUNT_HINTS: readonly (readonly [RegExp, string])[] = [
  [/^(?:[+\-−－＋].*|.*[-−]|\(.*\))$/u, 'has a sign or brackets'],
  [/^[0-9][0-9]*E[+-]?[0-9]+$/i, 'is written with an exponent'],
  [/[\p{Sc}]|[A-Za-z]{3}/u, 'has more in it than a number, such as the sign or code of a currency'],
  [/(?![0-9])\p{N}/u, 'has digits that are not 0 to 9'],
  [/^[0-9][0-9.,'’\s٫٬]*$/u, 'has a comma, a blank or another mark between its digits, or lacks digits'],
];

function explainAmount(value: string): string {
  if (/^0[0-9]+(?:\.[0-9]*)?$/.test(value)) return 'begins with 0';
  return AMOUNT_HINTS.find(([pattern]) => pattern.test(value))?.[1] ?? 'is not a plain number';
}

const MOJIBAKE = /Ã[\u0080-\u00BF]|Â[\u00A0-\u00BF]|â(?:€|\u0080)/u;

/** What is odd about a cell that is accepted. */
export function cellWarning(column: Column, value: string): ProblemCode | undefined {
  if (column === 'reference') return oddReference(value);
  if (column !== 'payoutCategory' && column !== 'payinCategory') return undefined;
  return MOJIBAKE.test(value) ? 'W_MOJIBAKE' : undefined;
}
