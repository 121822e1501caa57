/** Whether two names are one person's: capital letters, blanks around and Unicode forms make no second person. */
export function isSamePerson(one: string, other: string): boolean {
  return folded(one) === folded(other);
}

function folded(name: string): string {
  return name.normalize('NFKC').trim().replaceAll(/\s+/g, ' ').toLowerCase();
}
