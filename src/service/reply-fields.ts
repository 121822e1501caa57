import { decimalOfNumber } from '../money.ts';

/*
 * Readers of single fields of a reply. Each gives undefined for what is unreadable. They are written by hand because a
 * payout waits for some thirty of them.
 */

export type Json = Readonly<Record<string, unknown>>;
export type Read<T> = (value: unknown) => T | undefined;

const WORD_MAX = 64;
const ID_MAX = 128;
const ENTRIES_MAX = 20;
/** What is replaced or takes two code units is more than one character of what is cut at first. */
const CUT_FIRST = 4;

/** A JSON object; no array and not null. */
export function objectOf(json: unknown): Json | undefined {
  return isObject(json) ? json : undefined;
}

function isObject(json: unknown): json is Json {
  return typeof json === 'object' && json !== null && !isList(json);
}

export function isList(json: unknown): json is readonly unknown[] {
  return Array.isArray(json);
}

/** Null when the field is missing or null, undefined when it is unreadable. */
export function optional<T>(value: unknown, read: Read<T>): T | null | undefined {
  return value === undefined || value === null ? null : read(value);
}

/** Null when the field is missing, null or unreadable. */
export function shown<T>(value: unknown, read: Read<T>): T | null {
  return optional(value, read) ?? null;
}

/** The readable ones among the first entries of a list, 20 unless told; none of what is no list. */
export function readable<T>(json: unknown, read: Read<T>, max = ENTRIES_MAX): T[] {
  if (!isList(json)) return [];
  const entries: T[] = [];
  for (const entry of json.slice(0, max)) {
    const value = read(entry);
    if (value !== undefined) entries.push(value);
  }
  return entries;
}

/** Text that matches, as it stands. */
export function textLike(pattern: RegExp, max = Number.POSITIVE_INFINITY): Read<string> {
  return (value) => (typeof value === 'string' && value.length <= max && pattern.test(value) ? value : undefined);
}

/** Text of the service for people: without control and format characters, and of at most so many characters. */
export function cleaned(max: number): Read<string> {
  return (value) => {
    if (typeof value !== 'string' || value === '') return undefined;
    if (value.length <= max && PLAIN.test(value)) return value;
    return cut(value.slice(0, CUT_FIRST * max).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' '), max);
  };
}

const PLAIN = /^[\x20-\x7e]*$/;

/** Never between the two halves of a character. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : Array.from(text).slice(0, max).join('');
}

export const word = cleaned(WORD_MAX);
/** Text of at most so many characters, as people count them. */
export const internalId: Read<string> = (value) =>
  typeof value === 'string' && cut(value, ID_MAX) === value ? value : undefined;
export const identifier = textLike(/^[\x21-\x7e]+$/, ID_MAX);

const uuidText = textLike(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i);
/** A UUID in lower case. */
export const uuid: Read<string> = (value) => uuidText(value)?.toLowerCase();

const currencyText = textLike(/^[a-zA-Z]{3,5}$/);
/** In upper case. */
export const currency: Read<string> = (value) => currencyText(value)?.toUpperCase();

const decimalText = textLike(/^[0-9]{1,24}(\.[0-9]{1,24})?$/);
/** Decimal text, of a number too. */
export const decimal: Read<string> = (value) =>
  typeof value === 'number' ? decimalOfNumber(value) : decimalText(value);

const timeText = textLike(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/i);
/** RFC 3339 in milliseconds since 1970; a time without a zone is no time. */
export const instant: Read<number> = (value) => {
  const epochMs = Date.parse(timeText(value)?.toUpperCase() ?? '');
  return Number.isNaN(epochMs) ? undefined : epochMs;
};

const statusText = textLike(/^[1-5][0-9]{2}$/);
/** A number, or in some bodies its text. */
export const statusCode: Read<number> = (value) => {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined;
  const text = statusText(value);
  return text === undefined ? undefined : Number.parseInt(text, 10);
};
