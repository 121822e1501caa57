/** A text of a source file, which must stand in it exactly once, and what stands there instead. */
export interface Edit {
  readonly file: string;
  readonly text: string;
  readonly by: string;
}

/** A test of the unchanged suite, by its full name. */
export interface NamedTest {
  readonly file: string;
  readonly name: string;
}

/** payrun with one guard replaced, and the tests that must fail on it. */
export interface Mutation {
  readonly guard: string;
  readonly edits: readonly Edit[];
  readonly caughtBy: readonly NamedTest[];
  /** What the failures have to say. */
  readonly says?: string;
  /** Also tried by `npm test`. */
  readonly quick?: true;
}

export function replaced(file: string, text: string, by: string): readonly Edit[] {
  return [{ file, text, by }];
}

export function named(file: string, ...names: readonly string[]): readonly NamedTest[] {
  return names.map((name) => ({ file, name }));
}
