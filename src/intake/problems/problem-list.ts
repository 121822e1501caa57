import { PROBLEM_KINDS } from './problem-kinds.ts';
import type { Problem } from './problems.ts';

/** What concerns the whole file is kept apart, so that no mistakes of rows crowd it out. */
const OF_FILE_KEPT_MAX = 20;

/** Problems in the order in which they were added: the first ones are kept, the others only counted. */
export interface ProblemList {
  add(problem: Problem): void;
  /** Those of the whole file first; they count among the ones that are kept. */
  kept(): readonly Problem[];
  total(): number;
  /** Whether one of all these problems refuses the whole file. */
  refusesFile(): boolean;
}

export function openProblemList(keptMax: number): ProblemList {
  const kept: Problem[] = [];
  const ofFile: Problem[] = [];
  let total = 0;
  let refusesFile = false;
  return {
    add(problem) {
      total++;
      if (PROBLEM_KINDS[problem.code].verdict === 'file') refusesFile = true;
      if (problem.line !== null && kept.length < keptMax) kept.push(problem);
      if (problem.line === null && ofFile.length < Math.min(OF_FILE_KEPT_MAX, keptMax)) ofFile.push(problem);
    },
    kept: () => [...ofFile, ...kept.slice(0, keptMax - ofFile.length)],
    total: () => total,
    refusesFile: () => refusesFile,
  };
}
