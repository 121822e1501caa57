/** Exit codes of the command line. */
export const EXIT = {
  ok: 0,
  defect: 1,
  usage: 2,
  fileRefused: 3,
  notPaid: 4,
  unsettled: 5,
  awaitingApproval: 6,
  unavailable: 69,
  interrupted: 130,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * Something that stops a command and that a person can fix: a wrong setting, a Redis that is not ours, a service that
 * cannot be reached. Shown as its message and remedy, never with a stack trace.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly exitCode: ExitCode;
  /** What to do about it, as a sentence. */
  readonly remedy: string;

  constructor(message: string, options: { exitCode: ExitCode; remedy: string; cause?: unknown }) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.exitCode = options.exitCode;
    this.remedy = options.remedy;
  }
}

/** The error's code (`ENOENT`, `ECONNREFUSED`), where it has one. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
