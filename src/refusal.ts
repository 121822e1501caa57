/**
 * What kind of refusal it is, of which each door makes codes of its own. `usage`: what was asked for, or how payrun is set,
 * cannot be done as it stands.
 */
export type RefusalKind = 'usage' | 'fileRefused' | 'unavailable' | 'defect' | 'interrupted';

/** Where people look next, or what they do: each door has its own words for it. */
export type Step =
  | { readonly to: 'see-run'; readonly run: string }
  | { readonly to: 'see-payout' | 'drop'; readonly run: string; readonly reference: string }
  | { readonly to: Exclude<keyof typeof WORDS, 'see-run' | 'see-payout' | 'drop'> };

/** What to do about a refusal: a sentence, or its parts where it names a step. */
export type Remedy = string | readonly (string | Step)[];

/** A remedy that names steps: withSteps`See ${{ to: 'see-runs' }} for all runs.` */
export function withSteps(texts: TemplateStringsArray, ...parts: readonly (string | Step)[]): Remedy {
  return texts.flatMap((text, at) => [text, ...parts.slice(at, at + 1)]);
}

/** Words for each step; RUN and REFERENCE stand for those of the step. */
export type StepWords = Readonly<Record<Step['to'], string>>;

/** For everybody who is not at the command line: at a page, behind the API, over a log. */
const WORDS = {
  'see-run': 'the page of run RUN',
  'see-payout': 'the page of the payout',
  'see-runs': 'the list of runs',
  'see-users': 'the page Users',
  'see-keys': 'the page Keys',
  'see-schedules': 'the page Schedules',
  'see-notifications': 'the page Notifications',
  'see-doctor': 'the doctor of payrun',
  'see-switches': 'the help of the sandbox',
  drop: '"Drop it"',
  release: 'one proposes it under Settings, another one confirms',
  'do-the-same': 'do the same',
  'remove-schedule': 'its button Remove',
  'adopt-settings': 'the button under Safety settings',
  'adopt-ledger': 'two people adopt the ledger on the host of the data directory',
  'write-off': 'they write it off on one of the hosts that are left',
  'check-template': 'the check of templates',
  'add-admin': 'whoever runs payrun does so on its host',
  'run-file': 'a worker on the sandbox',
  'start-sandbox': 'whoever runs payrun does so by a worker with --sandbox',
  'make-ledger': 'whoever runs payrun makes a ledger',
} as const;

/** A remedy in the words of a door; a step that begins a sentence does so with a capital. */
export function remedyText(remedy: Remedy, words: StepWords = WORDS): string {
  if (typeof remedy === 'string') return remedy;
  return remedy.reduce<string>((text, part) => {
    const told = typeof part === 'string' ? part : stepText(part, words);
    return text + (/(?:^|[.?!] )$/.test(text) ? told.charAt(0).toUpperCase() + told.slice(1) : told);
  }, '');
}

function stepText(step: Step, words: StepWords): string {
  const of = { run: '', reference: '', ...step };
  return words[step.to].replaceAll(/RUN|REFERENCE/g, (name) => (name === 'RUN' ? of.run : of.reference));
}

/**
 * Something that stops a command and that a person can fix: a wrong setting, a Redis that is not ours, a service that
 * cannot be reached. Shown as its message and remedy, never with a stack trace.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly kind: RefusalKind;
  /** What to do about it, for a door that has words of its own. */
  readonly next: Remedy;

  constructor(message: string, next: Remedy, { kind = 'usage', ...options }: RefusalOptions = {}) {
    super(message, options);
    this.kind = kind;
    this.next = next;
  }

  /** What to do about it, in plain words. */
  get remedy(): string {
    return remedyText(this.next);
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

/** What is told of a file or folder on a disk that nothing can be written to. */
export const IS_READ_ONLY = 'is on a disk that is read-only';
