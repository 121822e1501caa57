import { createHash } from 'node:crypto';
import type { Money } from '../money.ts';
import { type ControlTotals, judgeTotals, vouchForEnd } from './control-totals.ts';
import type { Header } from './csv/header.ts';
import { layoutWords, messageWord } from './csv/layout.ts';
import { formatOf, type Reading } from './formats.ts';
import { DEFAULT_LIMITS, type IntakeLimits } from './limits.ts';
import { readManifest } from './manifest.ts';
import { openPayoutSource, type PayoutSource } from './payout-source.ts';
import { openProblemList, type ProblemGroup } from './problems/problem-list.ts';
import { type Problem, problemOf } from './problems/problems.ts';
import { ReaderDied } from './reader/read-apart.ts';
import { openReferenceHashes } from './row/reference-hash.ts';
import { type DuplicateLines, openDuplicateCursor, openReferenceTable } from './row/references.ts';
import { type CheckedRow, duplicateProblem, referenceOf } from './row/row.ts';
import { openContentHash } from './row/row-hash.ts';
import { readCheckedRows, tellRows } from './row/rows.ts';
import { openTally } from './tally.ts';
import { PLAIN_TEMPLATE, type Template } from './template/template.ts';

/** What intake found out about a payout file. */
export interface CheckedFile {
  /** Without folders. */
  readonly name: string;
  /** SHA-256 of the bytes, in hexadecimal; empty when the file was refused for a limit before it was read to the end. */
  readonly sha256: string;
  /** In hexadecimal; the same for the same rows in any order, with any line ends, with or without a byte order mark. */
  readonly contentHash: string;
  /** The same of the rows without problems alone. */
  readonly acceptedHash: string;
  /** The columns that are read, as a run keeps them (layout.ts); none when there is no sound header. */
  readonly columns: readonly string[];
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
  /** All problems by code and column, the most frequent first. */
  readonly problemGroups: readonly ProblemGroup[];
  /** What is odd but no reason to refuse; as many at most. */
  readonly warnings: readonly Problem[];
  /** The structure is damaged or a limit is passed: the valid rows must not be paid either. */
  readonly fileRefused: boolean;
  /** All that is wrong stands in some row, so that a marked-up copy can show it. */
  readonly isMarkable: boolean;
  /** For the second pass: rows that are refused for their reference, and how the file was read. */
  readonly duplicates: DuplicateLines;
  readonly reading: Reading;
}

/** What may be said about a payout file when it is handed in. */
export interface IntakeOptions {
  readonly limits?: Partial<IntakeLimits>;
  readonly template?: Template;
  /** What the file should hold; a manifest beside the file has its say as well. */
  readonly expected?: ControlTotals;
  /** The name under which the file was handed in, where it lies under another. It tells the format. */
  readonly fileName?: string;
}

/**
 * Reads a payout file once, in memory that does not grow but for a hash of each reference, and tells everything that
 * is wrong with it. Bad content is an outcome; a Refusal (file refused) is thrown only when the
 * file cannot be opened or read. A file in which references repeat is read three times: to compare them, and to count what
 * is left without them.
 * Control totals are those of the options and of `<path>.manifest.json`, where that lies there.
 */
export async function checkPayoutFile(path: string, options: IntakeOptions = {}): Promise<CheckedFile> {
  return checkPayoutSource(await openPayoutSource(path), options, await readManifest(path));
}

/**
 * The same for bytes from anywhere. A file whose reader died is read once more; one whose reader dies again is refused,
 * for nobody could tell what it holds.
 */
export async function checkPayoutSource(
  source: PayoutSource,
  options: IntakeOptions = {},
  manifest?: ControlTotals | Problem,
): Promise<CheckedFile> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const name = options.fileName ?? source.name;
  const reading: Reading = { format: formatOf(name), template: options.template ?? PLAIN_TEMPLATE, limits };
  const told = [options.expected, manifest];
  const first = await unlessDied(checkOnce(source, { name, reading, told }));
  if (!(first instanceof ReaderDied)) return first;
  const second = await unlessDied(checkOnce(source, { name, reading, told }));
  return second instanceof ReaderDied ? unreadable(second, { name, reading }) : second;
}

async function unlessDied(checking: Promise<CheckedFile>): Promise<CheckedFile | ReaderDied> {
  try {
    return await checking;
  } catch (error) {
    if (error instanceof ReaderDied) return error;
    throw error;
  }
}

interface Checking extends Pick<CheckedFile, 'name' | 'reading'> {
  /** What others say of the whole file. */
  readonly told: readonly (ControlTotals | Problem | undefined)[];
}

async function checkOnce(source: PayoutSource, { name, reading, told }: Checking): Promise<CheckedFile> {
  const findings = openFindings(reading.limits.problemsMax);
  const sha256 = await readThrough(source, reading, findings);
  if (sha256 !== '') judgeEnd(findings, sha256, told);
  const duplicates = await findDuplicates(source, reading, await findings.references.repeated());
  const { valid, content, repeated } =
    duplicates.lines.length === 0
      ? { valid: findings.valid, content: findings.content, repeated: [] }
      : await lookAgain(source, reading, duplicates);
  const problems = inFileOrder([...findings.problems.kept(), ...repeated]).slice(0, reading.limits.problemsMax);
  return {
    ...resultOf(findings, { name, sha256, reading }),
    valid: valid.rows(),
    validTotals: valid.totals(),
    acceptedHash: content.accepted(),
    problems,
    problemsTotal: findings.problems.total() + duplicates.lines.length,
    problemGroups: withRepeated(findings.problems.groups(), repeated[0], duplicates.lines.length),
    duplicates,
  };
}

function unreadable({ found }: ReaderDied, { name, reading }: Pick<CheckedFile, 'name' | 'reading'>): CheckedFile {
  const findings = openFindings(reading.limits.problemsMax);
  findings.stop(problemOf('E_UNREADABLE_FILE', { facts: { found } }));
  return resultOf(findings, { name, reading, sha256: '' });
}

const NO_DUPLICATES: DuplicateLines = { lines: new Uint32Array(0), others: new Uint32Array(0) };

/** What was found by reading the file once. */
function resultOf(findings: Findings, of: Pick<CheckedFile, 'name' | 'sha256' | 'reading'>): CheckedFile {
  return {
    ...of,
    contentHash: findings.content.digest(),
    columns: findings.columns(),
    rows: findings.rows(),
    valid: findings.valid.rows(),
    totals: findings.totals.totals(),
    validTotals: findings.valid.totals(),
    acceptedHash: findings.content.accepted(),
    problems: findings.problems.kept(),
    problemsTotal: findings.problems.total(),
    problemGroups: findings.problems.groups(),
    warnings: findings.warnings.kept(),
    fileRefused: findings.isRefused(),
    isMarkable: findings.isMarkable(),
    duplicates: NO_DUPLICATES,
  };
}

/** Gives the SHA-256 of the file, empty when a limit stopped the reading. */
async function readThrough(source: PayoutSource, reading: Reading, findings: Findings): Promise<string> {
  const { fileBytesMax } = reading.limits;
  const tooLarge = problemOf('E_FILE_SIZE', { facts: { limit: fileBytesMax } });
  if (source.bytes !== null && source.bytes > fileBytesMax) {
    findings.stop(tooLarge);
    return '';
  }
  const sha256 = createHash('sha256');
  async function* measured(): AsyncGenerator<Buffer> {
    let bytes = 0;
    for await (const chunk of source.chunks()) {
      bytes += chunk.length;
      if (bytes > fileBytesMax) return findings.stop(tooLarge);
      sha256.update(chunk);
      yield chunk;
    }
  }
  const rows = tellRows(measured(), reading, { listener: findings, take: () => findings.isStopped() });
  for await (const isStopped of rows) if (isStopped) return '';
  return sha256.digest('hex');
}

/** Compares the whole file with its control totals. Without any that vouch for its end it must not end in mid-line. */
function judgeEnd(findings: Findings, sha256: string, told: readonly (ControlTotals | Problem | undefined)[]): void {
  const found = { ...findings.found(), sha256 };
  let isVouchedFor = false;
  for (const one of told) {
    if (one === undefined) continue;
    if ('code' in one) {
      findings.damage(one);
      continue;
    }
    for (const problem of judgeTotals(one, found)) findings.damage(problem);
    isVouchedFor ||= vouchForEnd(one, findings.isEndCounted());
  }
  const line = findings.cutShortLine();
  if (line !== undefined && !isVouchedFor) findings.damage(problemOf('E_TRUNCATED', { line }));
}

type Findings = ReturnType<typeof openFindings>;

/** Collects what the row reader tells. */
function openFindings(problemsMax: number) {
  const problems = openProblemList(problemsMax);
  const warnings = openProblemList(problemsMax);
  const references = openReferenceHashes();
  const content = openContentHash();
  const totals = openTally();
  const valid = openValidCount();
  let columns: readonly string[] = [];
  let message: string | null = null;
  let isEndCounted = false;
  let rows = 0;
  let amountless = 0;
  let cutShortLine: number | undefined;
  let isDamaged = false;
  let isMarkable = true;
  let isStopped = false;

  function damage(problem: Problem): void {
    if (isStopped) return;
    isDamaged = true;
    if (problem.code !== 'E_BLANK_ROW') isMarkable = false;
    if (problem.code === 'E_TOO_MANY_ROWS') isStopped = true;
    problems.add(problem);
  }

  return {
    problems,
    warnings,
    references,
    content,
    totals,
    valid,
    rows: () => rows,
    isRefused: () => isDamaged || problems.refusesFile(),
    isMarkable: () => isMarkable,
    /** A limit was passed: the file is not read to its end. */
    isStopped: () => isStopped,
    found: () => ({ rows, totals: totals.totals(), amountless }),
    cutShortLine: () => cutShortLine,
    /** The last cell of each row is its amount, or one that is not read. */
    isEndCounted: () => isEndCounted,
    columns: () => (message === null ? columns : [messageWord(message), ...columns]),
    message(name: string) {
      message = name;
    },
    header(header: Header) {
      columns = layoutWords(header);
      isEndCounted = header.columns.every(({ column, at }) => column === 'amount' || at !== header.width - 1);
    },
    row(checked: CheckedRow) {
      rows++;
      for (const problem of checked.problems) problems.add(problem);
      for (const warning of checked.warnings) warnings.add(warning);
      content.add(checked);
      // What stands in no cell would be missing in a copy, and the copy would look sound.
      if ((checked.record.faults ?? []).length > 0) isMarkable = false;
      if (checked.amount === null) amountless++;
      else totals.add(checked.amount);
      valid.add(checked);
      const reference = referenceOf(checked);
      if (reference !== '') references.add(reference);
    },
    damage,
    stop(problem: Problem) {
      damage(problem);
      isStopped = true;
    },
    warning: (problem: Problem) => warnings.add(problem),
    cutShort(line: number) {
      cutShortLine = line;
    },
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

/** Another reading compares the references whose hash came more than once. */
async function findDuplicates(
  source: PayoutSource,
  reading: Reading,
  suspects: BigUint64Array,
): Promise<DuplicateLines> {
  const references = openReferenceTable(suspects);
  if (suspects.length === 0) return NO_DUPLICATES;
  for await (const rows of readCheckedRows(source.chunks(), reading)) {
    for (const row of rows) {
      const reference = referenceOf(row);
      if (reference !== '') references.add(reference, row.line);
    }
  }
  return await references.duplicates();
}

/** One more reading tells which rows are valid but for their reference, and what the repeated references are. */
async function lookAgain(source: PayoutSource, reading: Reading, duplicates: DuplicateLines) {
  const otherLineOf = openDuplicateCursor(duplicates);
  const valid = openValidCount();
  const content = openContentHash();
  const repeated: Problem[] = [];
  for await (const rows of readCheckedRows(source.chunks(), reading)) {
    for (const row of rows) {
      const other = otherLineOf(row.line);
      if (other === undefined) {
        valid.add(row);
        content.add(row);
      } else if (repeated.length < reading.limits.problemsMax) repeated.push(duplicateProblem(row, other));
    }
  }
  return { valid, content, repeated };
}

function withRepeated(groups: readonly ProblemGroup[], first: Problem | undefined, count: number): ProblemGroup[] {
  const repeated = first === undefined ? [] : [{ code: first.code, column: first.column, count, first }];
  return [...groups, ...repeated].toSorted((one, other) => other.count - one.count);
}

/** What concerns the whole file stands first. */
function inFileOrder(problems: readonly Problem[]): Problem[] {
  return problems.toSorted((left, right) => (left.line ?? 0) - (right.line ?? 0));
}
