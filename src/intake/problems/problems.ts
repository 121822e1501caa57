import { PROBLEM_KINDS, type ProblemCode } from './problem-kinds.ts';
import { showValue } from './shown-value.ts';

export interface Problem {
  readonly code: ProblemCode;
  /** The physical line on which the row begins; null when the problem is the whole file's. */
  readonly line: number | null;
  readonly column: string | null;
  /** What the cell holds, cut, masked and escaped; null when there is no cell. */
  readonly value: string | null;
  readonly message: string;
  readonly remedy: string;
}

/** What fills the {name}s of a message. */
export type Facts = Readonly<Record<string, string | number>>;

export interface ProblemPlace {
  readonly line?: number | null;
  readonly column?: string;
  /** What the file calls the column, where that is another name. */
  readonly name?: string;
  /** The cell as it stands in the file. */
  readonly value?: string;
  readonly facts?: Facts;
  /** In place of the remedy of the kind. */
  readonly remedy?: string;
}

/** A problem with its sentences filled in and its value masked. */
export function problemOf(code: ProblemCode, { line, column, name, value, facts, remedy }: ProblemPlace): Problem {
  const kind = PROBLEM_KINDS[code];
  return {
    code,
    line: line ?? null,
    column: name ?? column ?? null,
    value: value === undefined ? null : detached(showValue(column ?? null, value)),
    message: detached(filled(kind.message, facts)),
    remedy: filled(remedy ?? kind.remedy, facts),
  };
}

function filled(text: string, facts: Facts | undefined): string {
  return text.replace(/\{([a-z]+)\}/g, (_, name: string) => String(facts?.[name] ?? '?'));
}

/** A copy that shares no memory with the piece of the file that its text was cut from. */
function detached(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}
