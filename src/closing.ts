import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

/** What does not close within this, because its Redis is gone, is left. */
const RELEASE_MS_MAX = 5000;

/** Gives something back that was opened. */
export type Release = () => Promise<unknown>;

/** In reverse; what cannot be closed, or not in time, does not keep the others open. */
export async function releaseAll(closing: Release[], { clock, log }: { clock: Clock; log: Log }): Promise<void> {
  for (let release = closing.pop(); release !== undefined; release = closing.pop()) {
    const waiting = new AbortController();
    await Promise.race([release(), clock.sleep(RELEASE_MS_MAX, waiting.signal)]).catch((error: unknown) => {
      log.warn('something could not be closed', { error });
    });
    waiting.abort();
  }
}
