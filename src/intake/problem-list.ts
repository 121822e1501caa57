import { PROBLEM_KINDS, type Problem } from './problems.ts';

/** Problems in the order in which they were added: the first ones are kept, the others only counted. */
export interface ProblemList {
  add(problem: Problem): void;
  kept(): readonly Problem[];
  total(): number;
  /** Whether one of all these problems refuses the whole file. */
  refusesFile(): boolean;
}

export function openProblemList(keptMax: number): ProblemList {
  const kept: Problem[] = [];
  let total = 0;
  let refusesFile = false;
  return {
    add(problem) {
      total++;
      if (PROBLEM_KINDS[problem.code].verdict === 'file') refusesFile = true;
      if (kept.length < keptMax) kept.push(problem);
    },
    kept: () => kept,
    total: () => total,
    refusesFile: () => refusesFile,
  };
}
