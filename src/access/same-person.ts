/** Whether two names are one person's: capital letters, blanks around and Unicode forms make no second person. */
export function isSamePerson(one: string, other: string): boolean {
  return foldedName(one) === foldedName(other);
}

/**
 * Whether a person did what an actor did: under their own name, by a program whose key they made, which acts as
 * `key NAME of PERSON`, or by a schedule that they set, `schedule NAME of PERSON`. Such a person may be a program in turn.
 * Names may hold "of" themselves; each reading of one counts.
 */
export function isBehind(person: string, actor: string): boolean {
  const own = foldedName(person);
  const folded = foldedName(actor);
  return folded === own || (/^(?:key|schedule) /.test(folded) && folded.endsWith(` of ${own}`));
}

/** Whether any of these persons did it. */
export function isAnyBehind(persons: readonly string[], actor: string): boolean {
  return persons.some((person) => isBehind(person, actor));
}

/** What all spellings of one person's name come to. */
export function foldedName(name: string): string {
  return name.normalize('NFKC').trim().replaceAll(/\s+/g, ' ').toLowerCase();
}
