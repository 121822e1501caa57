/** One line without values: wholly blank, or nothing but commas. */
export interface EmptyLine {
  readonly line: number;
  readonly isBlank: boolean;
  readonly cells: readonly string[];
}

/** Lines without values that wait for what follows them: at the end of a file they mean nothing. */
export interface EmptyLines {
  keep(line: EmptyLine): void;
  count(): number;
  /** The first of the lines, so many at most. */
  take(countMax: number): EmptyLine[];
}

/** Lines of one kind that follow each other take the memory of one: spreadsheets write a million of them. */
export function openEmptyLines(): EmptyLines {
  let stretches: { first: EmptyLine; count: number }[] = [];
  let at = 0;
  let count = 0;
  return {
    keep(line) {
      count++;
      const last = stretches.at(-1);
      if (last?.first.isBlank === line.isBlank) last.count++;
      else stretches.push({ first: line, count: 1 });
    },
    count: () => count,
    take(countMax) {
      const taken: EmptyLine[] = [];
      for (let stretch = stretches[at]; stretch !== undefined && taken.length < countMax; stretch = stretches[at]) {
        taken.push(stretch.first);
        stretch.first = { ...stretch.first, line: stretch.first.line + 1 };
        if (--stretch.count === 0) at++;
      }
      count -= taken.length;
      if (count === 0) {
        stretches = [];
        at = 0;
      }
      return taken;
    },
  };
}
