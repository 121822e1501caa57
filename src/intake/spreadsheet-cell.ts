/**
 * What a spreadsheet would run as a formula: = + - @ (also in full-width and small forms), TAB, CR, LF or NUL as the
 * first character, or as the first after spaces and invisible characters (docs/security.md).
 */
const FORMULA = /^[\s\p{Cf}]*[=+\-@\t\r\n\0\uFF1D\uFF0B\uFF0D\uFF20\uFE66\uFE62\uFE63\uFE6B]/u;

/** The same behind a semicolon: where cells end with it, a spreadsheet cuts the text there, which our own quotes do not forbid. */
const FORMULA_BEHIND = /;(?=[\s\p{Cf}]*[=+\-@\0\uFF1D\uFF0B\uFF0D\uFF20\uFE66\uFE62\uFE63\uFE6B])/gu;

/** Control, format (bidirectional, zero-width), line-separating and lone surrogate characters. */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Most texts are this, and far cheaper to recognise. */
const PRINTABLE_ASCII = /^[ -~]*$/;

/** Nor can this be a formula: it begins with a letter or a digit, and no semicolon follows. */
const PLAIN = /^[A-Za-z0-9][ -:<-~]*$/;

/** The text with each control character written as `\u` and four hexadecimal digits, as JSON would write it. */
export function escapeControls(text: string): string {
  return PRINTABLE_ASCII.test(text) ? text : text.replace(CONTROLS, escapeCodeUnits);
}

/** Each UTF-16 code unit as `\u` and four hexadecimal digits. */
export function escapeCodeUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}

/**
 * Free text as a cell that no spreadsheet runs: what begins like a formula, or does behind a semicolon, gets a `'` there, and
 * control characters are escaped. Any other text is returned as it is. Not for numbers: a negative amount is no formula.
 */
export function textCell(text: string): string {
  return PLAIN.test(text) ? text : escapeControls(neutralised(text));
}

/** The same without the escapes: for a copy that is to be read again. */
export function neutralised(text: string): string {
  return (FORMULA.test(text) ? `'${text}` : text).replaceAll(FORMULA_BEHIND, ";'");
}
