import { type Clock, dayText, type Random } from '../../clock.ts';

/** Without letters and digits that are taken for one another. */
const ALPHABET = '23456789abcdefghjkmnpqrstvwxyz';
const RANDOM_LETTERS = 6;

/** A run's id: its day (UTC) and six random letters, `20260131-k3f9xq`. Files and logs sort by it. */
export function newRunId({ clock, random }: { clock: Clock; random: Random }): string {
  const letters = [...random.bytes(RANDOM_LETTERS)].map((byte) => ALPHABET[byte % ALPHABET.length]);
  return `${dayText(clock.now())}-${letters.join('')}`;
}

/** Whether a text may be a run's id. */
export function isRunId(text: string): boolean {
  return new RegExp(`^\\d{8}-[${ALPHABET}]{${RANDOM_LETTERS}}$`).test(text);
}
