import { isBehind, isSamePerson } from '../../access/same-person.ts';
import type { Run } from '../../payout.ts';

/** What tells who handed a run's file in. */
export type HandedIn = Pick<Run, 'createdBy' | 'dropper'>;

/** As whom a person handed the file in, by themselves or by what they set up; undefined when they did not. */
export function handedInAs(person: string, { createdBy, dropper }: HandedIn): string | undefined {
  if (isBehind(person, createdBy)) return createdBy;
  return dropper !== null && dropper !== '' && isSamePerson(person, dropper) ? dropper : undefined;
}

/** Approvals beside those that its totals need: nobody can tell whether who approves has put the file there. */
export function approvalsMore({ dropper }: HandedIn): number {
  return dropper === '' ? 1 : 0;
}
