/**
 * What kind of refusal it is, of which each door makes codes of its own. `usage`: what was asked for, or how payrun is set,
 * cannot be done as it stands.
 */
export type RefusalKind = 'usage' | 'fileRefused' | 'unavailable' | 'defect' | 'interrupted';

/**
 * Something that stops a command and that a person can fix: a wrong setting, a Redis that is not ours, a service that
 * cannot be reached. Shown as its message and remedy, never with a stack trace.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly kind: RefusalKind;
  /** What to do about it, as a sentence. */
  readonly remedy: string;

  constructor(message: string, remedy: string, { kind = 'usage', ...options }: RefusalOptions = {}) {
    super(message, options);
    this.kind = kind;
    this.remedy = remedy;
  }
}

interface RefusalOptions {
  readonly kind?: RefusalKind;
  readonly cause?: unknown;
}

/** The error's code (`ENOENT`, `ECONNREFUSED`), where it has one. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
