import { formatAmount } from '../../money.ts';
import type { CheckedFile } from '../check-file.ts';
import type { Problem } from './problems.ts';
import { escapeUnseen } from './shown-value.ts';

const DESCRIBED_WARNINGS_MAX = 20;

/** What `validate --json`, and a refused `run` or `submit`, print. */
export function problemsDocument(checked: CheckedFile): object {
  return {
    file: checked.name,
    rows: checked.rows,
    valid: checked.valid,
    totals: checked.totals.map((total) => ({ currency: total.currency, file: formatAmount(total) })),
    problems: checked.problems,
    problemsTotal: checked.problemsTotal,
  };
}

/**
 * For a terminal: all problems that are kept (at most 1,000) and the first 20 warnings, with line, column, code, value,
 * message and remedy. Empty without any.
 */
export function describeProblems(checked: CheckedFile): string {
  const { problems, problemsTotal, warnings } = checked;
  const left = problemsTotal - problems.length;
  return [
    ...(problemsTotal === 0 ? [] : [headline(checked)]),
    ...problems.map(describe),
    ...(left === 0 ? [] : [moreText(left, checked)]),
    ...warnings.slice(0, DESCRIBED_WARNINGS_MAX).map(describe),
    ...(warnings.length > DESCRIBED_WARNINGS_MAX ? [moreWarnings(checked)] : []),
  ].join('\n');
}

/** How many warnings are not described; no more of them are kept than of problems. */
function moreWarnings({ warnings, reading }: CheckedFile): string {
  const isAll = warnings.length < reading.limits.problemsMax;
  return `and ${isAll ? '' : 'at least '}${warnings.length - DESCRIBED_WARNINGS_MAX} more warnings`;
}

function moreText(left: number, { isMarkable }: CheckedFile): string {
  return `and ${left} more${isMarkable ? ': "payrun validate FILE --marked-up COPY" writes all of them beside their rows' : ''}`;
}

function headline({ name, rows, valid, problemsTotal, fileRefused }: CheckedFile): string {
  const count = problemsTotal === 1 ? '1 problem' : `${problemsTotal} problems`;
  const verdict = fileRefused ? 'The file is refused as a whole.' : `${rows - valid} of ${rows} rows are refused.`;
  return `${escapeUnseen(name)}: ${count}. ${verdict}`;
}

function describe({ line, column, code, value, message, remedy }: Problem): string {
  const place = [line === null ? 'file' : `line ${line}`, ...(column === null ? [] : [column])].join(', ');
  const cell = value === null || value === '' ? '' : ` "${value}"`;
  return `${place}: ${code}${cell}\n  ${message}\n  ${remedy}`;
}
