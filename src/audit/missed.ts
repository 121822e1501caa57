import { type AuditRecord, readEntry } from './entry.ts';

const SHOWN_MAX = 10;

/** What is written down and changes nothing that is paid: a log without it is no ledger that went back to other decisions. */
const NO_DECISIONS: ReadonlySet<string> = new Set([
  'report.downloaded',
  'user.signed-in',
  'user.sign-in-refused',
  'run.attached',
]);

/** What only stops, and what ends it. */
const DONE_AGAIN: ReadonlySet<string> = new Set([
  'run.cancelled',
  'run.paused',
  'beneficiary.blocked',
  'user.disabled',
  'key.revoked',
]);
const UNDONE: ReadonlySet<string> = new Set(['run.resumed', 'beneficiary.unblocked', 'user.enabled', 'key.created']);

/** What people decided, of entries that Redis does not have any more, and what of it can be done again by itself. */
export interface MissedDecisions {
  /** For people: how many, and the first of them. */
  readonly text: string;
  readonly all: readonly AuditRecord[];
  /** Hand-ins: their files are known, though their rows are not. */
  readonly submitted: readonly AuditRecord[];
  /** The last change of a run, beneficiary, user or key, where that was one that stops. */
  readonly stops: readonly AuditRecord[];
}

/** Undefined when nothing was decided in what is missing. */
export function missedDecisions(missing: readonly AuditRecord[]): MissedDecisions | undefined {
  const all = missing.filter(({ action }) => !NO_DECISIONS.has(action));
  if (all.length === 0) return undefined;
  const lasting = all.filter(({ action }) => DONE_AGAIN.has(action) || UNDONE.has(action));
  const last = new Map(lasting.map((record) => [`${record.action.split('.')[0]} ${record.target}`, record]));
  return {
    text: describe(all),
    all,
    submitted: all.filter(({ action }) => action === 'run.submitted'),
    stops: [...last.values()].filter(({ action }) => DONE_AGAIN.has(action)),
  };
}

function describe(decisions: readonly AuditRecord[]): string {
  const shown = decisions.slice(0, SHOWN_MAX).map(({ number, action, target }) => `${number} ${action} ${target}`);
  const more =
    decisions.length > SHOWN_MAX
      ? [`and ${decisions.length - SHOWN_MAX} more, all of which are in the process log`]
      : [];
  return `${decisions.length} decisions are missing in Redis: ${[...shown, ...more].join(', ')}`;
}

/** The entries of a directory's copies that do not stand in Redis, in the order of their numbers. */
export async function missingIn(
  copies: readonly AuditRecord[],
  lines: AsyncIterable<string>,
): Promise<readonly AuditRecord[]> {
  const missing = new Map(copies.map((copy) => [copy.hash, copy]));
  for await (const line of lines) missing.delete(readEntry(line)?.hash ?? '');
  return [...missing.values()].toSorted((one, other) => one.number - other.number);
}
