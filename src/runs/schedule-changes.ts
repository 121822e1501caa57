import { type AuditRecord, readEntry } from '../audit/entry.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Run } from '../payout.ts';

const SINCE_MS = 24 * 60 * 60_000;
const ENTRIES_AT_ONCE = 500;
/** Beyond them nothing is looked for, and the first change says so. */
const ENTRIES_MAX = 20_000;

/** Somebody set or removed a schedule, or an inbox was watched under other settings, shortly before a run came by it, or since. */
export interface ScheduleChange {
  /** `unseen`: so much was done since that time that its changes were not all looked for; of one the other facts are empty. */
  readonly what: 'schedule' | 'inbox' | 'unseen';
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly by: string;
  /** Of the schedule or inbox. */
  readonly name: string;
  /** False for a schedule that was removed. */
  readonly isSet: boolean;
  /** What it does since; '' for one that was removed. Of an inbox: `first` when nobody watched it before, else `anew`. */
  readonly does: string;
}

/**
 * What was changed of schedules and of the settings of inboxes since a day before a run came by an inbox, the oldest first;
 * none for a run that waits for nobody. Whoever approves it has to know that its way here is a new one.
 */
export async function scheduleChangesOf(
  { audit }: Pick<Ledger, 'audit'>,
  run: Pick<Run, 'state' | 'createdAt' | 'dropper'>,
  entriesMax = ENTRIES_MAX,
): Promise<ScheduleChange[]> {
  if (run.dropper === null || (run.state !== 'awaiting-approval' && run.state !== 'paused')) return [];
  const from = run.createdAt - SINCE_MS;
  const { first, isWhole } = await firstSince(audit, from, entriesMax);
  const changes: ScheduleChange[] = isWhole ? [] : [unseenBefore(from)];
  for await (const line of audit.lines(first)) {
    // Most entries are something else, and are not looked at more closely.
    const entry = /"(?:schedule|inbox)\./.test(line) ? readEntry(line) : undefined;
    if (entry !== undefined && entry.at >= from) changes.push(...changeIn(entry));
  }
  return changes;
}

function changeIn({ at, actor: by, action, target, details }: AuditRecord): ScheduleChange[] {
  const name = target.replace(/^(?:schedule|inbox) /, '');
  switch (action) {
    case 'schedule.set':
    case 'schedule.removed':
      return [{ what: 'schedule', at, by, name, isSet: action === 'schedule.set', does: details['do'] ?? '' }];
    case 'inbox.watched':
    case 'inbox.settings-changed':
      return [{ what: 'inbox', at, by, name, isSet: true, does: action === 'inbox.watched' ? 'first' : 'anew' }];
    default:
      return [];
  }
}

/** In the place of the changes for which nobody looked. */
function unseenBefore(at: number): ScheduleChange {
  return { what: 'unseen', at, by: '', name: '', isSet: true, does: '' };
}

/** Where to begin to read, so that no later entry is left out, and whether that is as far back as asked. */
async function firstSince(
  audit: Ledger['audit'],
  from: number,
  entriesMax: number,
): Promise<{ first: number; isWhole: boolean }> {
  const last = (await audit.head()).number;
  let first = last + 1;
  while (first > 1 && last - first < entriesMax) {
    first = Math.max(1, first - ENTRIES_AT_ONCE);
    for await (const line of audit.lines(first)) {
      if ((readEntry(line)?.at ?? from) < from) return { first, isWhole: true };
      break;
    }
  }
  return { first, isWhole: first === 1 };
}

/** A change in words, after its time. */
export function scheduleChangeWords({ what, by, name, isSet, does }: ScheduleChange): string {
  if (what === 'unseen')
    return 'from here on not all changes were looked for: too much stands on the audit log since. Look at it';
  if (what === 'inbox')
    return `${by} watches the inbox ${name} ${does === 'first' ? 'for the first time' : 'under other settings'}`;
  return isSet ? `${by} set the schedule ${name} (${does})` : `${by} removed the schedule ${name}`;
}
