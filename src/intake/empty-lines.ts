/** One line without values: wholly blank, or nothing but commas. */
export interface EmptyLine {
  readonly line: number;
  readonly isBlank: boolean;
  readonly cells: readonly string[];
}

/** Lines without values that wait for what follows them: at the end of a file they mean nothing (bad-input cases 27, 28). */
export interface EmptyLines {
  keep(line: EmptyLine): void;
  count(): number;
  /** The lines in file order; none are left. */
  take(): Generator<EmptyLine>;
}

/** Lines of one kind that follow each other take the memory of one: spreadsheets write a million of them. */
export function openEmptyLines(): EmptyLines {
  let stretches: { first: EmptyLine; count: number }[] = [];
  let count = 0;
  return {
    keep(line) {
      count++;
      const last = stretches.at(-1);
      if (last?.first.isBlank === line.isBlank) last.count++;
      else stretches.push({ first: line, count: 1 });
    },
    count: () => count,
    *take() {
      const taken = stretches;
      stretches = [];
      count = 0;
      for (const stretch of taken) {
        for (let at = 0; at < stretch.count; at++) yield { ...stretch.first, line: stretch.first.line + at };
      }
    },
  };
}
