import { EXIT, Refusal } from '../refusal.ts';

const CHARACTERS_MAX = 64;
/** Histories name payrun's own doings so, and programs that bring a key. */
const TAKEN = /^(?:key|process|schedule|season|stranger|payrun|inbox|worker)(?:\s|$)/i;

/**
 * The name of a user or a key as it is kept. Letters are of one alphabet, so that no name looks like another one. Throws a
 * Refusal (exit 2).
 */
export function requireName(text: string, what: 'user' | 'key'): string {
  const name = text.normalize('NFKC').trim();
  const problem = nameProblem(name);
  if (problem === undefined) return name;
  throw new Refusal(`${JSON.stringify(text)} is no name for a ${what}: ${problem}.`, {
    exitCode: EXIT.usage,
    remedy: `Give another one, such as ${what === 'user' ? 'anna or anna.berg' : 'accounting'}.`,
  });
}

function nameProblem(name: string): string | undefined {
  if (!/^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}._@' -]*[\p{L}\p{M}\p{N}])?$/u.test(name)) {
    return "it has to begin and end with a letter or digit, and may have blanks, . _ @ ' and - in between";
  }
  if (name.length > CHARACTERS_MAX) return `it has more than ${CHARACTERS_MAX} characters`;
  if (/\p{Script=Latin}/u.test(name) && /[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(name)) {
    return 'it has letters of more than one alphabet';
  }
  return TAKEN.test(name) ? 'payrun names its own doings so' : undefined;
}
