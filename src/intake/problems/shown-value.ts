/** Longest piece of a cell that a problem shows, and longest code (a country, a currency, a category) shown whole. */
const SHOWN_CHARACTERS_MAX = 40;
const SHOWN_CODE_CHARACTERS_MAX = 20;
const MASKED_TAIL_CHARACTERS = 4;
/** So many digits make a value look like an account number. */
const ACCOUNT_DIGITS_MIN = 8;

const IDENTITY_COLUMNS: ReadonlySet<string> = new Set(['beneficiaryIdentityId', 'originatorIdentityId']);
const OPEN_COLUMNS: ReadonlySet<string> = new Set(['reference', 'amount']);

/** Control, bidirectional, invisible and unassigned characters, odd blanks and line separators. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** Text that is safe on a terminal and in a log: what cannot be seen stands as \u{…}. */
export function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/**
 * A cell as a problem may show it. References and amounts are cut to 40 characters; of identity ids, and of anything
 * elsewhere that is long or looks like an account number, only the last four characters are left (docs/security.md).
 */
export function showValue(column: string | null, value: string): string {
  const isOpen = column !== null && OPEN_COLUMNS.has(column);
  if (isOpen) return escapeUnseen(cut(value));
  const isIdentity = column !== null && IDENTITY_COLUMNS.has(column);
  if (isIdentity || value.length > SHOWN_CODE_CHARACTERS_MAX || looksLikeAccount(value)) return tailOf(value);
  return escapeUnseen(cut(value));
}

function looksLikeAccount(value: string): boolean {
  return value.replace(/\P{Nd}/gu, '').length >= ACCOUNT_DIGITS_MIN;
}

function tailOf(value: string): string {
  const characters = Array.from(value.slice(-2 * MASKED_TAIL_CHARACTERS));
  if (characters.length <= MASKED_TAIL_CHARACTERS) return escapeUnseen(characters.join(''));
  return `…${escapeUnseen(characters.slice(-MASKED_TAIL_CHARACTERS).join(''))}`;
}

function cut(value: string): string {
  if (value.length <= SHOWN_CHARACTERS_MAX) return value;
  const characters = Array.from(value.slice(0, 2 * SHOWN_CHARACTERS_MAX));
  if (characters.length <= SHOWN_CHARACTERS_MAX) return value;
  return `${characters.slice(0, SHOWN_CHARACTERS_MAX - 1).join('')}…`;
}
