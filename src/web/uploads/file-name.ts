const CHARACTERS_MAX = 200;
const ENDING_CHARACTERS_MAX = 16;
const NAMELESS = 'payouts.csv';

/** Control, bidirectional, invisible and unassigned characters, line separators, and the sign for a lost character. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}\u{FFFD}]/gu;

/**
 * The name that somebody's browser gave a file, as text to show: without folders, without what cannot be seen, at most 200
 * characters with its ending kept, for that tells the format. It is never a path of ours (docs/security.md).
 */
export function shownFileName(given: string): string {
  const base = given
    .replace(/^.*[/\\]/s, '')
    .replace(UNSEEN, '')
    .trim();
  if (/^\.*$/.test(base)) return NAMELESS;
  const characters = Array.from(base);
  if (characters.length <= CHARACTERS_MAX) return base;
  const ending = /\.[^.]+$/.exec(base)?.[0] ?? '';
  const kept = ending.length <= ENDING_CHARACTERS_MAX ? ending : '';
  return `${characters.slice(0, CHARACTERS_MAX - Array.from(kept).length).join('')}${kept}`;
}
