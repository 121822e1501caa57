import { isAnyBehind } from '../../access/same-person.ts';
import { Refusal } from '../../refusal.ts';
import { type Seals, UNKNOWN_KEY, type Word } from '../seals.ts';
import type { People } from './people.ts';

/** What decides whether somebody's word still counts. */
export interface WordJudge {
  readonly seals: Pick<Seals, 'word' | 'judgeWord'>;
  readonly people: Pick<People, 'disabled'>;
}

/**
 * Whether somebody said it, and was not disabled since; anybody who can write to Redis may have put it there otherwise. Throws a
 * Refusal where nobody can tell here.
 */
export async function wordStands({ seals, people }: WordJudge, seal: string, word: Word): Promise<boolean> {
  const verdict = seals.judgeWord(seal, word);
  if (verdict === 'unknown-key') {
    throw new Refusal(`Somebody proposes it already, and ${UNKNOWN_KEY}.`, 'Nothing was changed.');
  }
  return verdict === 'true' && !isAnyBehind(await people.disabled(), word.by);
}
