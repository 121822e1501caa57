import type { Clock } from '../../clock.ts';

const HEARTBEAT_MS = 15_000;
/** A session may end in another process. */
const SIGNED_IN_EVERY_MS = 5000;
/** Browsers ask again so soon after a cut. */
const RETRY_MS = 3000;

/** What everybody sees who looks at a run. */
export interface Look {
  /** `changes` of the run, and whether everything is halted. */
  readonly id: string;
  readonly html: string;
  /** Nothing more will come. */
  readonly isLast: boolean;
}

/** Looks at a run, the same ones for all who look on. */
export interface Looks {
  /** Undefined before the first one. */
  latest(): Look | undefined;
  /** Resolves after the next one. */
  next(): Promise<void>;
  /** True once there will be no more. */
  isClosed(): boolean;
}

/** Somebody who looks on. */
export interface Watcher {
  /** Of the last event that they have; '' for none. */
  readonly lastEventId: string;
  /** Whether they have signed out here. */
  readonly hasLeft: () => boolean;
  /** Whether their session still holds. Asking keeps none alive. */
  readonly isSignedIn: () => Promise<boolean>;
}

/**
 * What one watcher is sent, as server-sent events (HTML Living Standard, section 9.2): what changed, a comment when nothing
 * has for a while, and at the end an `end` with the reason. A slow reader misses what came in between, and nothing waits.
 */
export async function* liveEvents(
  clock: Pick<Clock, 'monotonic'>,
  looks: Looks,
  watcher: Watcher,
): AsyncGenerator<string, void> {
  yield `retry: ${RETRY_MS}\n\n`;
  const isStillIn = openSessionLook(clock, watcher);
  let sentAt = clock.monotonic();
  let [seenId, seenHtml] = [watcher.lastEventId, ''];
  while (!looks.isClosed()) {
    const look = looks.latest();
    const now = clock.monotonic();
    if (!(await isStillIn())) {
      yield endEvent('signed-out');
      return;
    }
    if (look !== undefined && (seenHtml === '' ? look.id !== seenId : look.html !== seenHtml)) {
      yield changeEvent(look);
      sentAt = now;
    } else if (now - sentAt >= HEARTBEAT_MS) {
      yield ': nothing new\n\n';
      sentAt = now;
    }
    if (look !== undefined) [seenId, seenHtml] = [look.id, look.html];
    if (look?.isLast === true) {
      yield endEvent('over');
      return;
    }
    await looks.next();
  }
}

/** Tells whether somebody is still signed in: who left here is not, and of all others the ledger is asked now and then. */
function openSessionLook(clock: Pick<Clock, 'monotonic'>, { hasLeft, isSignedIn }: Watcher): () => Promise<boolean> {
  let askedAt = clock.monotonic();
  return async () => {
    if (hasLeft()) return false;
    if (clock.monotonic() - askedAt < SIGNED_IN_EVERY_MS) return true;
    askedAt = clock.monotonic();
    return await isSignedIn();
  };
}

function changeEvent({ id, html }: Look): string {
  return `id: ${id}\ndata: ${html.split(/\r\n|\r|\n/).join('\ndata: ')}\n\n`;
}

function endEvent(reason: 'over' | 'signed-out'): string {
  return `event: end\ndata: ${reason}\n\n`;
}
