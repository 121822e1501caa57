import { isSamePerson } from '../../access/same-person.ts';

/**
 * Asks a script for what needs two people. It carries out what another person has proposed only when it is told who that
 * was: so it is decided here, and not by comparing letters, whether the two are one person, and nobody comes in between.
 */
export async function bySecondPerson(actor: string, ask: (proposedBy: string) => Promise<string[]>): Promise<string[]> {
  const answer = await ask('');
  const [word, proposedBy = ''] = answer;
  if (word !== 'seen') return answer;
  if (isSamePerson(proposedBy, actor)) return ['same-person', proposedBy];
  return await ask(proposedBy);
}
