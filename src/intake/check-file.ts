import { createHash } from 'node:crypto';
import type { Money } from '../money.ts';
import { DEFAULT_LIMITS, type IntakeLimits } from './limits.ts';
import { openPayoutSource, type PayoutSource } from './payout-source.ts';
import { openProblemList } from './problem-list.ts';
import { type Problem, problemOf } from './problems.ts';
import { type DuplicateLines, openDuplicateCursor, openReferenceTable } from './references.ts';
import { type CheckedRow, duplicateProblem, referenceOf } from './row.ts';
import { openContentHash } from './row-hash.ts';
import { openRowReader, readCheckedRows } from './rows.ts';
import { openTally } from './tally.ts';

/** What intake found out about a payout file. */
export interface CheckedFile {
  /** Without folders. */
  readonly name: string;
  /** SHA-256 of the bytes, in hexadecimal; empty when the file was refused for a limit before it was read to the end. */
  readonly sha256: string;
  /** In hexadecimal; the same for the same rows in any order, with any line ends, with or without a byte order mark. */
  readonly contentHash: string;
  /** Data rows; lines without values at the end of the file are none. */
  readonly rows: number;
  /** Rows without problems. */
  readonly valid: number;
  /** Per currency named by `amountType`, refused rows included where amount and currency could be read. */
  readonly totals: readonly Money[];
  readonly validTotals: readonly Money[];
  /** At most `limits.problemsMax`, in file order. */
  readonly problems: readonly Problem[];
  readonly problemsTotal: number;
  /** What is odd but no reason to refuse; as many at most. */
  readonly warnings: readonly Problem[];
  /** The structure is damaged or a limit is passed: the valid rows must not be paid either. */
  readonly fileRefused: boolean;
  /** For the second pass: rows that are refused for their reference, and the limits that were used. */
  readonly duplicates: DuplicateLines;
  readonly limits: IntakeLimits;
}

/**
 * Reads a payout file once, in memory that does not grow but for a hash of each reference, and tells everything that
 * is wrong with it (design 11; bad-input.md). Bad content is an outcome; a Refusal (exit 3) is thrown only when the
 * file cannot be opened or read. A file in which references repeat is read twice, to count what is left without them.
 */
export async function checkPayoutFile(path: string, limits: Partial<IntakeLimits> = {}): Promise<CheckedFile> {
  return checkPayoutSource(await openPayoutSource(path), limits);
}

/** The same for bytes from anywhere. */
export async function checkPayoutSource(
  source: PayoutSource,
  partialLimits: Partial<IntakeLimits> = {},
): Promise<CheckedFile> {
  const limits = { ...DEFAULT_LIMITS, ...partialLimits };
  const findings = openFindings(limits.problemsMax);
  const sha256 = await readThrough(source, limits, findings);
  const duplicates = findings.references.duplicates();
  const { valid, repeated } =
    duplicates.lines.length === 0
      ? { valid: findings.valid, repeated: [] }
      : await lookAgain(source, limits, duplicates);
  return {
    name: source.name,
    sha256,
    contentHash: findings.content.digest(),
    rows: findings.rows(),
    valid: valid.rows(),
    totals: findings.totals.totals(),
    validTotals: valid.totals(),
    problems: inFileOrder([...findings.problems.kept(), ...repeated]).slice(0, limits.problemsMax),
    problemsTotal: findings.problems.total() + duplicates.lines.length,
    warnings: findings.warnings.kept(),
    fileRefused: findings.isRefused(),
    duplicates,
    limits,
  };
}

/** Gives the SHA-256 of the file, empty when a limit stopped the reading. */
async function readThrough(source: PayoutSource, limits: IntakeLimits, findings: Findings): Promise<string> {
  const tooLarge = problemOf('E_FILE_SIZE', { facts: { limit: limits.fileBytesMax } });
  if (source.bytes !== null && source.bytes > limits.fileBytesMax) {
    findings.damage(tooLarge);
    return '';
  }
  const sha256 = createHash('sha256');
  const reader = openRowReader(limits, findings);
  let bytes = 0;
  for await (const chunk of source.chunks()) {
    bytes += chunk.length;
    if (bytes > limits.fileBytesMax) {
      findings.damage(tooLarge);
      return '';
    }
    sha256.update(chunk);
    reader.push(chunk);
    if (findings.isOverRows()) return '';
  }
  reader.end();
  return findings.isOverRows() ? '' : sha256.digest('hex');
}

type Findings = ReturnType<typeof openFindings>;

/** Collects what the row reader tells. */
function openFindings(problemsMax: number) {
  const problems = openProblemList(problemsMax);
  const warnings = openProblemList(problemsMax);
  const references = openReferenceTable();
  const content = openContentHash();
  const totals = openTally();
  const valid = openValidCount();
  let rows = 0;
  let isDamaged = false;
  let isOverRows = false;
  return {
    problems,
    warnings,
    references,
    content,
    totals,
    valid,
    rows: () => rows,
    isRefused: () => isDamaged || problems.refusesFile(),
    isOverRows: () => isOverRows,
    row(checked: CheckedRow) {
      rows++;
      for (const problem of checked.problems) problems.add(problem);
      for (const warning of checked.warnings) warnings.add(warning);
      content.add(checked);
      if (checked.amount !== null) totals.add(checked.amount);
      valid.add(checked);
      const reference = referenceOf(checked);
      if (reference !== '') references.add(reference, checked.line);
    },
    damage(problem: Problem) {
      isDamaged = true;
      if (problem.code === 'E_TOO_MANY_ROWS') isOverRows = true;
      problems.add(problem);
    },
    warning: (problem: Problem) => warnings.add(problem),
  };
}

function openValidCount() {
  const totals = openTally();
  let rows = 0;
  return {
    add({ row }: CheckedRow) {
      if (row === null) return;
      rows++;
      totals.add(row.amount);
    },
    rows: () => rows,
    totals: () => totals.totals(),
  };
}

/** A second reading tells which rows are valid but for their reference, and what the repeated references are. */
async function lookAgain(source: PayoutSource, limits: IntakeLimits, duplicates: DuplicateLines) {
  const otherLineOf = openDuplicateCursor(duplicates);
  const valid = openValidCount();
  const repeated: Problem[] = [];
  for await (const rows of readCheckedRows(source.chunks(), limits)) {
    for (const row of rows) {
      const other = otherLineOf(row.line);
      if (other === undefined) valid.add(row);
      else if (repeated.length < limits.problemsMax) repeated.push(duplicateProblem(row, other));
    }
  }
  return { valid, repeated };
}

/** What concerns the whole file stands at the end. */
function inFileOrder(problems: readonly Problem[]): Problem[] {
  const last = Number.MAX_SAFE_INTEGER;
  return problems.toSorted((left, right) => (left.line ?? last) - (right.line ?? last));
}
