import { openDigits } from './format-digits.ts';

/** What a format shows of a number. */
interface Shown {
  /** The plain decimal that a person reads. */
  readonly number: string;
  /** What stands beside it, such as the sign of a currency. */
  readonly words: readonly string[];
}

/** A number format of a spreadsheet (ISO/IEC 29500-1, 18.8.31). */
export interface NumberFormat {
  /** It shows dates or times of any number. */
  readonly isDate: boolean;
  /** Texts stand in it as they are. */
  readonly showsText: boolean;
  /** What it shows of a plain decimal that is not negative; undefined for nothing, a fraction or digits that are text. */
  readonly show: (decimal: string) => Shown | undefined;
}

/** Code is what stands for something else, such as a digit; `G` is General, `E` an exponent, `d` any part of a date. */
interface Token {
  readonly kind: 'code' | 'text' | 'condition';
  readonly text: string;
}

/** One of the parts that semicolons separate. */
interface Section extends Pick<NumberFormat, 'show'> {
  /** Whether it says itself which numbers it is for; undefined where its place does. */
  readonly holds: ((decimal: string) => boolean) | undefined;
  readonly hasText: boolean;
  readonly showsText: boolean;
}

/** Spreadsheets take no longer ones. */
const CHARACTERS_MAX = 255;
const TEXT_SECTION = 3;

const TOKEN =
  /"(?<quoted>[^"]*)"?|\\(?<escaped>.)|(?<blank>_.)|\*(?<fill>.)|\[(?<bracket>[^\]]*)\]|(?<general>general)|(?<exponent>e[+-])|(?<date>[dmyhsaeg])|(?<code>[0#?.,%/@;])|(?<plain>.)/gisu;
const CONDITION = /^(?<sign><=|>=|<>|<|>|=)(?<number>-?[0-9]+(?:\.[0-9]+)?)$/;
const COMPARISONS: Readonly<Record<string, (value: number, limit: number) => boolean>> = {
  '<': (value, limit) => value < limit,
  '<=': (value, limit) => value <= limit,
  '>': (value, limit) => value > limit,
  '>=': (value, limit) => value >= limit,
  '=': (value, limit) => value === limit,
  '<>': (value, limit) => value !== limit,
};
const PLACEHOLDER = /[0#?.@GE]/;
const DIGIT = /\p{Nd}/u;
const THOUSANDS_MARK = /^[\s,'’]$/u;

/** Reads a format's code, whatever it holds. */
export function readNumberFormat(code: string): NumberFormat {
  const tokens = code.length > CHARACTERS_MAX ? [] : tokensOf(code);
  const sections = sectionsOf(tokens);
  const last = sections.at(-1);
  const isLastText = sections.length > TEXT_SECTION || (sections.length > 1 && last?.hasText === true);
  const forText = isLastText || last?.hasText === true ? last : undefined;
  const forNumbers = isLastText ? sections.slice(0, -1) : sections;
  return {
    isDate: tokens.some(({ kind, text }) => kind === 'code' && text === 'd'),
    showsText: forText?.showsText ?? true,
    show: (decimal) => sectionFor(forNumbers, decimal)?.show(decimal),
  };
}

function tokensOf(code: string): Token[] {
  return Array.from(code.matchAll(TOKEN), ({ groups = {} }): Token => {
    const { quoted, escaped, blank, fill, bracket, general, exponent, date, code: sign, plain } = groups;
    if (bracket !== undefined) return tokenOfBracket(bracket);
    if (blank !== undefined) return { kind: 'text', text: ' ' };
    if (general !== undefined) return { kind: 'code', text: 'G' };
    if (exponent !== undefined) return { kind: 'code', text: 'E' };
    if (date !== undefined) return { kind: 'code', text: 'd' };
    if (sign !== undefined) return { kind: 'code', text: sign };
    return { kind: 'text', text: quoted ?? escaped ?? fill ?? plain ?? '' };
  });
}

/** In brackets stand a currency with its language, a condition, or a time that may pass a day; all else is a colour. */
function tokenOfBracket(text: string): Token {
  if (text.startsWith('$')) return { kind: 'text', text: text.slice(1).replace(/-.*$/s, '') };
  if (CONDITION.test(text)) return { kind: 'condition', text };
  return /^(?:h+|m+|s+)$/i.test(text) ? { kind: 'code', text: 'd' } : { kind: 'text', text: '' };
}

function sectionsOf(tokens: readonly Token[]): Section[] {
  const parts: Token[][] = [[]];
  for (const token of tokens) {
    if (token.kind === 'code' && token.text === ';') parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts.map(sectionOf);
}

/** By the conditions that sections have, or by their places: for positive, negative and no amounts. */
function sectionFor(sections: readonly Section[], decimal: string): Section | undefined {
  if (sections.some(({ holds }) => holds !== undefined)) return sections.find(({ holds }) => holds?.(decimal) ?? true);
  return /[1-9]/.test(decimal) ? sections[0] : (sections[2] ?? sections[0]);
}

function sectionOf(all: readonly Token[]): Section {
  const tokens = all.filter(({ kind }) => kind !== 'condition');
  const isPlaceholder = ({ kind, text }: Token): boolean => kind === 'code' && PLACEHOLDER.test(text);
  const first = tokens.findIndex(isPlaceholder);
  const end = first < 0 ? 0 : tokens.findLastIndex(isPlaceholder) + 1;
  const inside = tokens.slice(Math.max(first, 0), end);
  const beside = [...tokens.slice(0, Math.max(first, 0)), ...tokens.slice(end)];
  const words = [...wordsOf(tokens.slice(0, Math.max(first, 0))), ...wordsOf(tokens.slice(end))];
  const hasText = inside.some(({ kind, text }) => kind === 'code' && text === '@');
  const mask = maskOf(inside);
  const count = (sign: string): number => beside.filter(({ kind, text }) => kind === 'code' && text === sign).length;
  const numberOf = DIGIT.test(words.join())
    ? () => undefined
    : openDigits(mask, { percents: count('%'), thousands: count(',') });
  return {
    holds: conditionOf(all.find(({ kind }) => kind === 'condition')),
    hasText,
    showsText: /^[@G]$/.test(mask) && words.length === 0,
    show(decimal) {
      const number = numberOf(decimal);
      return number === undefined ? undefined : { number, words };
    },
  };
}

function conditionOf(token: Token | undefined): Section['holds'] {
  const { sign = '', number } = CONDITION.exec(token?.text ?? '')?.groups ?? {};
  const compare = COMPARISONS[sign];
  return compare === undefined ? undefined : (decimal) => compare(Number(decimal), Number(number));
}

/** Commas beside the digits leave out thousands, and are not seen. */
function wordsOf(tokens: readonly Token[]): string[] {
  const text = tokens.map((token) => (token.kind === 'code' && token.text === ',' ? '' : token.text)).join('');
  return text
    .replace(/\p{Cf}/gu, '')
    .split(/\s+/u)
    .filter((word) => word !== '');
}

/** The digits with each mark between thousands as `_`; `!` stands for any other text among them. */
function maskOf(tokens: readonly Token[]): string {
  return tokens
    .map(({ kind, text }) => {
      if (kind === 'code' || text === '') return text;
      return THOUSANDS_MARK.test(text) ? '_' : '!';
    })
    .join('');
}
