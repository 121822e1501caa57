import { placeOfId } from '../payout.ts';
import { type AuditRecord, readEntry, tellsHandIn } from './entry.ts';

const SHOWN_MAX = 10;

/** What is written down and changes nothing that is paid: a log without it is no ledger that went back to other decisions. */
const NO_DECISIONS: ReadonlySet<string> = new Set([
  'report.downloaded',
  'run.reported',
  'user.signed-in',
  'user.sign-in-refused',
  'run.reconciled',
]);

/** Acts that only stop, and those that end one. */
export const STOPPING = [
  'run.cancelled',
  'run.paused',
  'beneficiary.blocked',
  'user.disabled',
  'user.add-withdrawn',
  'key.revoked',
  'key.create-withdrawn',
  'capability.disproved',
  'payout.cancelled',
  'payout.drop-confirmed',
  'payout.not-paid-confirmed',
] as const;
export type Stopping = (typeof STOPPING)[number];
export type MissedStop = AuditRecord & { readonly action: Stopping };
const ENDING: ReadonlySet<string> = new Set([
  'run.resumed',
  'beneficiary.unblocked',
  'user.added',
  'user.enabled',
  'payout.allow-confirmed',
]);

const GIVEN_UP_DIRS: ReadonlySet<string> = new Set(['data-dir.retired', 'data-dir.written-off']);

const PAID: ReadonlySet<string> = new Set(['payout.paid-confirmed', 'payout.payment-found']);

/** What people decided, of entries that Redis does not have any more, and what of it can be done again by itself. */
export interface MissedDecisions {
  /** For people: how many, and the latest of them. */
  readonly text: string;
  readonly all: readonly AuditRecord[];
  /** Hand-ins: their files are known, though their rows are not. */
  readonly submitted: readonly AuditRecord[];
  /** Proposals to settle a payout. */
  readonly proposed: readonly AuditRecord[];
  /** Settlements as paid, and payments that were found for people, which name a quote and its payment. */
  readonly paid: readonly AuditRecord[];
  /** The last act on a run, payout, beneficiary, user or key, where that was one that stops. */
  readonly stops: readonly MissedStop[];
  /** Data directories that people gave up. */
  readonly givenUp: readonly string[];
}

/** Entries of the audit log that Redis lost, in the order of their times. */
export interface MissingEntries {
  readonly ours: readonly AuditRecord[];
  /** Of the lost ledger in whose place this one was made: all of them. */
  readonly former: readonly AuditRecord[];
}

/**
 * Undefined when nothing was decided in what is missing. Of a lost ledger the files of stopped runs alone are made known
 * again: what else was handed in comes back with its intent lines, or is over.
 */
export function missedDecisions(
  { ours, former }: MissingEntries,
  stopsAhead: readonly string[] = [],
): MissedDecisions | undefined {
  const all = [...former, ...ours].filter(({ action }) => !NO_DECISIONS.has(action));
  if (all.length === 0) return undefined;
  const lasting = all.filter((record) => isStopping(record) || ENDING.has(record.action));
  const last = new Map<string, AuditRecord>();
  for (const record of lasting) {
    const about = `${record.action.split('.')[0]} ${record.target}`;
    // Nothing ends a cancel: a pause that came after it, or that payrun itself made, does not either.
    if (last.get(about)?.action !== 'run.cancelled') last.set(about, record);
  }
  const stops = [...last.values()].filter(isStopping);
  const stoppedPayouts = stops.flatMap(({ action, target }) => (action.startsWith('payout.') ? [target] : []));
  const stopped = new Set([
    ...stops.map(({ target }) => target),
    ...stopsAhead,
    ...[...stoppedPayouts, ...stopsAhead].map((id) => placeOfId(id).runId),
  ]);
  const submitted = [...former.filter(({ target }) => stopped.has(target)), ...ours].filter(tellsHandIn);
  const paid = all.filter(({ action, details }) => PAID.has(action) && details['quote'] !== undefined);
  const proposed = all.filter(({ action }) => /^payout\..*-proposed$/.test(action));
  const givenUp = all
    .filter(({ action }) => GIVEN_UP_DIRS.has(action))
    .flatMap(({ details }) => details['dataDir'] ?? []);
  return { text: describe(all), all, submitted, paid, proposed, stops, givenUp };
}

function isStopping(record: AuditRecord): record is MissedStop {
  return STOPPING.some((action) => action === record.action);
}

function describe(decisions: readonly AuditRecord[]): string {
  const shown = decisions
    .toReversed()
    .slice(0, SHOWN_MAX)
    .map(({ number, action, target }) => `${number} ${action} ${target}`);
  const more =
    decisions.length > SHOWN_MAX ? [`and ${decisions.length - SHOWN_MAX} more (the process log has all)`] : [];
  return `${decisions.length} decisions are missing in Redis: ${[...shown, ...more].join(', ')}`;
}

/**
 * In the order of their times: where Redis went back before, entries of two times have the same numbers. An entry is never before
 * the one that it follows in the log, though Redis's clock stepped back between them.
 */
export function byTime(records: readonly AuditRecord[]): readonly AuditRecord[] {
  const times = new Map<string, number>();
  for (const { hash, previous, at } of records.toSorted((one, other) => one.number - other.number)) {
    times.set(hash, Math.max(at, times.get(previous) ?? at));
  }
  const timeOf = ({ hash, at }: AuditRecord): number => times.get(hash) ?? at;
  return records.toSorted((one, other) => timeOf(one) - timeOf(other) || one.number - other.number);
}

/** The entries of a directory's copies that do not stand in Redis. */
export async function missingIn(
  copies: readonly AuditRecord[],
  lines: AsyncIterable<string>,
): Promise<readonly AuditRecord[]> {
  const missing = new Map(copies.map((copy) => [copy.hash, copy]));
  for await (const line of lines) missing.delete(readEntry(line)?.hash ?? '');
  return [...missing.values()];
}
