import { Refusal } from '../refusal.ts';

const CHARACTERS_MAX = 64;
/** Histories name payrun's own doings so, and programs that bring a key. */
const TAKEN = /^(?:key|process|schedule|season|stranger|payrun|inbox|worker)(?:\s|$)/i;

/** What a name of any script may have beside its letters. */
const PLAIN = /[0-9._@' -]/g;
/** Of Latin letters those that are more than a letter of ASCII and its accents, and look like no other one. */
const OTHER_LATIN = /[ßæœøđłþðħ]/gi;
/**
 * Scripts of everyday use (UAX #31, table 5); those that are written together are one. Characters that several scripts share,
 * and rare scripts, serve look-alikes.
 */
const OF_ONE_SCRIPT: readonly RegExp[] = [
  /^\p{Script=Greek}*$/u,
  /^\p{Script=Cyrillic}*$/u,
  /^\p{Script=Armenian}*$/u,
  /^\p{Script=Hebrew}*$/u,
  /^\p{Script=Arabic}*$/u,
  /^\p{Script=Devanagari}*$/u,
  /^\p{Script=Bengali}*$/u,
  /^\p{Script=Gurmukhi}*$/u,
  /^\p{Script=Gujarati}*$/u,
  /^\p{Script=Tamil}*$/u,
  /^\p{Script=Telugu}*$/u,
  /^\p{Script=Kannada}*$/u,
  /^\p{Script=Malayalam}*$/u,
  /^\p{Script=Sinhala}*$/u,
  /^\p{Script=Thai}*$/u,
  /^\p{Script=Lao}*$/u,
  /^\p{Script=Khmer}*$/u,
  /^\p{Script=Myanmar}*$/u,
  /^\p{Script=Georgian}*$/u,
  /^\p{Script=Ethiopic}*$/u,
  /^[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]*$/u,
  /^[\p{Script=Hangul}\p{Script=Han}]*$/u,
];

/**
 * The name of a user or a key as it is kept. Its letters are of one script, and each of them can be seen, so that few names
 * look like another one; `looksLike` (look-alikes.ts) finds the others. Throws a Refusal.
 */
export function requireName(text: string, what: 'user' | 'key'): string {
  const name = text.normalize('NFKC').trim();
  const problem = nameProblem(name);
  if (problem === undefined) return name;
  throw new Refusal(
    `${JSON.stringify(text)} is no name for a ${what}: ${problem}.`,
    `Give another one, such as ${what === 'user' ? 'anna or anna.berg' : 'accounting'}.`,
  );
}

function nameProblem(name: string): string | undefined {
  if (!/^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}._@' -]*[\p{L}\p{M}\p{N}])?$/u.test(name)) {
    return "it has to begin and end with a letter or digit, and may have blanks, . _ @ ' and - in between";
  }
  if (name.length > CHARACTERS_MAX) return `it has more than ${CHARACTERS_MAX} characters`;
  if (/\p{Default_Ignorable_Code_Point}/u.test(name)) return 'it has characters that cannot be seen';
  if (!isOfOneScript(name)) return 'its letters are not of one alphabet, or look like those of another one';
  return TAKEN.test(name) ? 'payrun names its own doings so' : undefined;
}

function isOfOneScript(name: string): boolean {
  const letters = name.replaceAll(PLAIN, '');
  const latin = letters.replaceAll(OTHER_LATIN, '');
  // An accent that belongs to a letter is one character with it.
  if (!/\p{M}/u.test(latin) && /^[A-Za-z]*$/.test(latin.normalize('NFD').replaceAll(/\p{M}/gu, ''))) return true;
  return OF_ONE_SCRIPT.some((script) => script.test(letters));
}
