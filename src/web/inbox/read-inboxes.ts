import { isAddress } from '../../config/inbox.ts';
import { Refusal } from '../../refusal.ts';
import { readSchedule } from '../../schedules/schedule.ts';
import type { WebDeps } from '../web.ts';
import { type FolderLook, lookAtFolder } from './look.ts';

/** An inbox that somebody reads. */
export interface ShownInbox {
  readonly address: string;
  readonly readBy: readonly string[];
  /** Words where it cannot be looked at from here. */
  readonly folder: FolderLook | string;
  /** What keeps this process from reading it, since when in milliseconds since 1970; null for nothing. */
  readonly trouble: { readonly text: string; readonly since: number } | null;
}

/** The inboxes that somebody reads, each with what lies in it. */
export async function readInboxes(deps: WebDeps): Promise<ShownInbox[]> {
  const readers = await readReaders(deps);
  return await Promise.all(
    [...readers].map(async ([address, readBy]) => {
      const folder = isAddress(address)
        ? 'It is on a server, and this list does not ask the server.'
        : await lookAtFolder(address);
      return { address, readBy, folder, trouble: troubleOf(deps, address) };
    }),
  );
}

/** Who reads which inbox. */
export async function readReaders({ app, inboxes = [] }: WebDeps): Promise<Map<string, string[]>> {
  const readers = new Map<string, string[]>(inboxes.map(({ address }) => [address, ['this web app']]));
  for (const stored of (await app.ledger.schedules.read()).schedules) {
    const dir = inboxOf(stored);
    if (dir === undefined) continue;
    readers.set(dir, [...(readers.get(dir) ?? []), `schedule ${stored.name}`]);
  }
  return readers;
}

/** One that this payrun cannot read is shown among the schedules. */
function inboxOf(stored: Parameters<typeof readSchedule>[0]): string | undefined {
  try {
    const { act } = readSchedule(stored);
    return act.kind === 'inbox' ? act.dir : undefined;
  } catch {
    return undefined;
  }
}

/** What keeps this process from reading an inbox, in words; null for none. */
function troubleOf({ inboxes = [], app }: WebDeps, address: string): ShownInbox['trouble'] {
  const oldest = inboxes.find((one) => one.address === address)?.inbox.troubles.oldest();
  if (oldest === undefined) return null;
  const { error, sinceMs } = oldest;
  const since = app.clock.now() - (app.clock.monotonic() - sinceMs);
  const text = error instanceof Refusal ? `${error.message} ${error.remedy}` : 'There is a fault; the log names it.';
  return { text, since };
}
