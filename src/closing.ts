import type { Clock } from './clock.ts';
import type { Log } from './log.ts';

/** What does not close within this, because its Redis is gone, is left. */
const RELEASE_MS_MAX = 5000;

/** What a process that ends at once gives back first may take this long. */
const AT_ONCE_MS_MAX = 2000;

/** Gives something back that was opened. */
export type Release = () => Promise<unknown>;

const keptAtOnce = new Set<Release>();

/** Has something given back that would outlive a process that ends at once; what it returns takes that back. */
export function releaseAtOnce(release: Release): () => void {
  keptAtOnce.add(release);
  return () => void keptAtOnce.delete(release);
}

/** Gives back what would outlive this process, which ends at once. */
export async function endAtOnce(clock: Pick<Clock, 'sleep'>): Promise<void> {
  const released = Promise.allSettled([...keptAtOnce].map((release) => release()));
  await Promise.race([released, clock.sleep(AT_ONCE_MS_MAX)]);
}

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
