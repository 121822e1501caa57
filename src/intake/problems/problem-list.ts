import { PROBLEM_KINDS, type Problem, type ProblemCode } from './problems.ts';

/** What concerns the whole file is kept apart, so that no mistakes of rows crowd it out. */
const OF_FILE_KEPT_MAX = 20;

const GROUPS_MAX = 200;

/** Problems of one code in one column. */
export interface ProblemGroup {
  readonly code: ProblemCode;
  readonly column: string | null;
  readonly count: number;
  readonly first: Problem;
}

/** Problems in the order in which they were added: the first ones are kept, the others only counted. */
export interface ProblemList {
  add(problem: Problem): void;
  /** Those of the whole file first; they count among the ones that are kept. */
  kept(): readonly Problem[];
  total(): number;
  /** All of them by code and column, the most frequent first; at most 200 groups. */
  groups(): readonly ProblemGroup[];
  /** Whether one of all these problems refuses the whole file. */
  refusesFile(): boolean;
}

export function openProblemList(keptMax: number): ProblemList {
  const kept: Problem[] = [];
  const ofFile: Problem[] = [];
  const groups = new Map<string, { count: number; readonly first: Problem }>();
  let total = 0;
  let refusesFile = false;
  return {
    add(problem) {
      total++;
      addTo(groups, problem);
      if (PROBLEM_KINDS[problem.code].verdict === 'file') refusesFile = true;
      if (problem.line !== null && kept.length < keptMax) kept.push(problem);
      if (problem.line === null && ofFile.length < Math.min(OF_FILE_KEPT_MAX, keptMax)) ofFile.push(problem);
    },
    kept: () => [...ofFile, ...kept.slice(0, keptMax - ofFile.length)],
    total: () => total,
    groups: () =>
      Array.from(groups.values(), ({ count, first }) => ({
        code: first.code,
        column: first.column,
        count,
        first,
      })).toSorted((one, other) => other.count - one.count),
    refusesFile: () => refusesFile,
  };
}

function addTo(groups: Map<string, { count: number; readonly first: Problem }>, problem: Problem): void {
  const key = `${problem.code} ${problem.column}`;
  const group = groups.get(key);
  if (group !== undefined) group.count++;
  else if (groups.size < GROUPS_MAX) groups.set(key, { count: 1, first: problem });
}
