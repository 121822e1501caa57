import type { CheckedFile } from '../../intake/check-file.ts';
import type { Problem } from '../../intake/problems/problems.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';

const PLACES_SHOWN_MAX = 5;

/**
 * For a terminal: all problems that are kept (at most 1,000), with line, column, code, value, message and remedy, then the
 * warnings by their codes, each with its first places. What is the same of several in a row is said once. Empty without any.
 */
export function describeProblems(checked: CheckedFile): string {
  const { problems, problemsTotal } = checked;
  const left = problemsTotal - problems.length;
  return [
    ...(problemsTotal === 0 ? [] : [headline(checked)]),
    ...problems.map((problem, at) => (isLike(problem, problems[at - 1]) ? headOf(problem) : describe(problem))),
    ...(left === 0 ? [] : [moreText(left, checked)]),
    ...describeWarnings(checked),
  ].join('\n');
}

/** One text for each code; no more warnings are kept than problems. */
function describeWarnings({ warnings, reading }: CheckedFile): string[] {
  const isAll = warnings.length < reading.limits.problemsMax;
  return [...new Set(warnings.map(({ code }) => code))].flatMap((code) => {
    const [first, ...others] = warnings.filter((one) => one.code === code);
    if (first === undefined) return [];
    if (others.length === 0) return [describe(first)];
    const alike = [first, ...others];
    const left = alike.length - PLACES_SHOWN_MAX;
    const places = [...alike.slice(0, PLACES_SHOWN_MAX).map(placeText), ...(left > 0 ? [`${left} more`] : [])];
    const count = `${isAll ? '' : 'at least '}${alike.length} times`;
    return [`${code}, ${count}: ${places.join('; ')}\n  ${first.message}\n  ${first.remedy}`];
  });
}

function moreText(left: number, { isMarkable }: CheckedFile): string {
  return `and ${left} more${isMarkable ? ': "payrun validate FILE --marked-up COPY" writes all of them beside their rows' : ''}`;
}

function headline({ name, rows, valid, problemsTotal, fileRefused }: CheckedFile): string {
  const count = problemsTotal === 1 ? '1 problem' : `${problemsTotal} problems`;
  const verdict = fileRefused ? 'The file is refused as a whole.' : `${rows - valid} of ${rows} rows are refused.`;
  return `${escapeUnseen(name)}: ${count}. ${verdict}`;
}

function describe(problem: Problem): string {
  const { message, remedy } = problem;
  return `${headOf(problem)}\n  ${message}\n  ${remedy}`;
}

function headOf(problem: Problem): string {
  return `${placeOf(problem)}: ${problem.code}${cellOf(problem)}`;
}

function isLike({ code, message, remedy }: Problem, before: Problem | undefined): boolean {
  return before?.code === code && before.message === message && before.remedy === remedy;
}

function placeText(problem: Problem): string {
  return `${placeOf(problem)}${cellOf(problem)}`;
}

function placeOf({ line, column }: Problem): string {
  return [line === null ? 'file' : `line ${line}`, ...(column === null ? [] : [column])].join(', ');
}

function cellOf({ value }: Problem): string {
  return value === null || value === '' ? '' : ` "${value}"`;
}
