import type { Clock } from '../../clock.ts';

const HEARTBEAT_MS = 15_000;
const SIGNED_IN_EVERY_MS = 30_000;
/** Browsers ask again so soon after a cut. */
const RETRY_MS = 3000;

/** What everybody sees who looks at a run. */
export interface Look {
  /** `changes` of the run. */
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
  { lastEventId, isSignedIn }: Watcher,
): AsyncGenerator<string, void> {
  yield `retry: ${RETRY_MS}\n\n`;
  let [sentAt, askedAt] = [clock.monotonic(), clock.monotonic()];
  let [seenId, seenHtml] = [lastEventId, ''];
  while (!looks.isClosed()) {
    const look = looks.latest();
    const now = clock.monotonic();
    if (now - askedAt >= SIGNED_IN_EVERY_MS) {
      askedAt = now;
      if (!(await isSignedIn())) {
        yield endEvent('signed-out');
        return;
      }
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

function changeEvent({ id, html }: Look): string {
  return `id: ${id}\ndata: ${html.split(/\r\n|\r|\n/).join('\ndata: ')}\n\n`;
}

function endEvent(reason: 'over' | 'signed-out'): string {
  return `event: end\ndata: ${reason}\n\n`;
}
