import { statfs } from 'node:fs/promises';
import { LEDGER_QUEUE } from '../ledger/keys.ts';
import type { Notification } from './notification.ts';
import { announce, type ObserveDeps } from './observe.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Folders of this process's host by what they are for. */
export interface DiskPlaces {
  readonly dataDirId: string;
  readonly folders: Readonly<Record<'data' | 'reports', string>>;
}

/**
 * Looks at the disks of this host once a minute, and tells once a day while one is nearly full. For every process that writes
 * there: a host knows of its own disks only. A folder that is not there yet has no disk to tell of.
 */
export function openDiskWatch(deps: ObserveDeps, { dataDirId, folders }: DiskPlaces): { look(): Promise<void> } {
  let lookedAt = Number.NEGATIVE_INFINITY;
  const field = `disk:${dataDirId}`;
  return {
    async look() {
      const at = deps.clock.monotonic();
      if (at - lookedAt < MINUTE_MS) return;
      lookedAt = at;
      const disks = await findLow(folders, deps.settings.diskFreeBytesMin);
      if (disks.length === 0) return;
      const { version, note } = await deps.ledger.outbox.readLedgerAnnounced();
      const nowMs = deps.clock.now();
      if (nowMs - Number.parseInt(note[field] ?? '0', 10) < DAY_MS) return;
      const drafts = [{ event: 'disk-low' as const, at: nowMs, disks }];
      await announce(deps, { queue: LEDGER_QUEUE, version, drafts, note: { [field]: String(nowMs) } });
    },
  };
}

async function findLow(
  folders: DiskPlaces['folders'],
  freeBytesMin: number,
): Promise<NonNullable<Notification['disks']>> {
  const looks = Object.entries(folders).map(async ([folder, path]) => {
    const freeBytes = await freeBytesOf(path);
    return freeBytes === undefined || freeBytes >= freeBytesMin ? [] : [{ folder, freeBytes, freeBytesMin }];
  });
  return (await Promise.all(looks)).flat();
}

async function freeBytesOf(path: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}
