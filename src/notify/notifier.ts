import { once } from 'node:events';
import { statfs } from 'node:fs/promises';
import type { Random } from '../clock.ts';
import type { CheckedFile } from '../intake/check-file.ts';
import { LEDGER_QUEUE } from '../ledger/keys.ts';
import type { Run } from '../payout.ts';
import { deliverQueue } from './deliver.ts';
import type { Notification } from './notification.ts';
import { announce, type ObserveDeps, openObserver } from './observe.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Folders of this process's host by what they are for. */
interface DiskPlaces {
  readonly dataDirId: string;
  readonly folders: Readonly<Record<'data' | 'reports', string>>;
}

/**
 * Looks at the disks of this host once a minute, and tells once a day while one is nearly full. For every process that writes
 * there: a host knows of its own disks only. A folder that is not there yet has no disk to tell of.
 */
function openDiskWatch(deps: ObserveDeps, { dataDirId, folders }: DiskPlaces): { look(): Promise<void> } {
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

/** A turn ends before the next tick, also when that one comes a little early. */
const TURN_MS = 1800;
/** Deliveries to one endpoint at a time in one process: one that hangs keeps none of the others waiting. */
const DELIVERIES_PER_ENDPOINT = 4;
const FLUSH_ROUNDS_MAX = 100;

export interface NotifierDeps extends ObserveDeps {
  readonly random: Random;
  /** PEM certificates that are trusted besides Node's own. */
  readonly certificates?: readonly string[] | undefined;
  readonly disks: DiskPlaces;
}

/** A queue that wants to be delivered. */
export interface DueQueue {
  readonly endpoint: string;
  readonly queue: string;
}

/** Tells people and systems what happens. Nothing that pays waits for it or knows of it. */
export interface Notifier {
  /** Looks what is to be announced, in one process at a time, and gives the queues that want to be delivered. */
  look(): Promise<readonly DueQueue[]>;
  /** Delivers what waits in a queue; does nothing for an endpoint that is not configured here. */
  deliver(due: DueQueue, stopping: AbortSignal): Promise<void>;
  /**
   * Looks and delivers at once, for a process that is about to end and leaves no worker behind. Whatever has not come by
   * the time that `stopping` aborts is announced by the next one.
   */
  flush(stopping: AbortSignal): Promise<void>;
  /**
   * Tells that a file was refused and made no run. `at`, in milliseconds, is when it was handed in: a door that tells again,
   * because it does not know whether it did, gives the same time, and the receiver sees the same id.
   */
  announceRefused(file: Pick<CheckedFile, 'name' | 'sha256' | 'rows' | 'problems'>, at: number): Promise<void>;
  /** Tells that a run is foreseen to miss a cut-off, in words; whoever tells it takes care that it is told once. */
  announceLate(run: Run, reason: string): Promise<void>;
}

/** Where no endpoint is configured nothing is looked at or noted: whoever has endpoints tells all of it. */
export function openNotifier(deps: NotifierDeps): Notifier {
  const { ledger, settings, clock } = deps;
  const observer = openObserver(deps);
  const disks = openDiskWatch(deps, deps.disks);
  const underWay = new Map<string, number>();
  const isIdle = settings.endpoints.length === 0;
  let isLooking = false;

  async function dueQueues(): Promise<DueQueue[]> {
    const due = settings.endpoints.map(async ({ name }) => {
      const queues = await ledger.outbox.due(name, clock.now(), DELIVERIES_PER_ENDPOINT);
      return queues.map((queue) => ({ endpoint: name, queue }));
    });
    return (await Promise.all(due)).flat();
  }

  async function deliver({ endpoint: name, queue }: DueQueue, stopping: AbortSignal): Promise<void> {
    const endpoint = settings.endpoints.find((one) => one.name === name);
    const busy = underWay.get(name) ?? 0;
    if (endpoint === undefined || busy >= DELIVERIES_PER_ENDPOINT) return;
    underWay.set(name, busy + 1);
    try {
      await deliverQueue(deps, { endpoint, queue }, stopping);
    } finally {
      underWay.set(name, (underWay.get(name) ?? 1) - 1);
    }
  }

  return {
    async look() {
      if (isIdle || isLooking) return [];
      isLooking = true;
      try {
        await disks.look();
        if (!(await ledger.state.takeTurn('notify', TURN_MS))) return [];
        await observer.observe();
        return await dueQueues();
      } finally {
        isLooking = false;
      }
    },
    deliver,
    async flush(stopping) {
      if (isIdle || stopping.aborted) return;
      const stopped = once(stopping, 'abort');
      await observer.observe();
      for (let rounds = 0; rounds < FLUSH_ROUNDS_MAX && !stopping.aborted; rounds++) {
        const due = await dueQueues();
        if (due.length === 0) return;
        await Promise.race([stopped, Promise.all(due.map((one) => deliver(one, stopping)))]);
      }
    },
    async announceLate(run, reason) {
      if (isIdle) return;
      const drafts = [{ event: 'cut-off' as const, at: clock.now(), run, reason }];
      await announce(deps, { queue: run.id, version: null, drafts, note: {} });
    },
    async announceRefused({ name, sha256, rows, problems }, at) {
      if (isIdle) return;
      const refused = { file: { name, sha256, rows }, problems: countCodes(problems) };
      await announce(deps, {
        queue: LEDGER_QUEUE,
        version: null,
        drafts: [{ event: 'refused', at, refused }],
        note: {},
      });
    },
  };
}

function countCodes(problems: CheckedFile['problems']): { code: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const { code } of problems) counts.set(code, (counts.get(code) ?? 0) + 1);
  return [...counts].map(([code, count]) => ({ code, count }));
}
