import type { Clock } from '../../clock.ts';

/** Looks at most once in `everyMs`, and never twice at a time: whoever asks meanwhile is told what was seen last. */
export function openLook<Seen>(
  clock: Pick<Clock, 'monotonic'>,
  everyMs: number,
  look: () => Promise<Seen>,
): () => Promise<Seen> {
  let seen: Promise<Seen> | undefined;
  let againAt = 0;
  return () => {
    if (seen !== undefined && clock.monotonic() < againAt) return seen;
    againAt = Number.POSITIVE_INFINITY;
    seen = look().finally(() => {
      againAt = clock.monotonic() + everyMs;
    });
    return seen;
  };
}

/**
 * Asks one question at a time and waits for its answer only so long: undefined where none came in time, or where the
 * question before is still open. So what does not answer is never asked a second time meanwhile.
 */
export function openPatientLook<Seen>(
  clock: Pick<Clock, 'sleep'>,
  msMax: number,
  ask: () => Promise<Seen>,
): () => Promise<Seen | undefined> {
  let isOpen = false;
  return async () => {
    if (isOpen) return undefined;
    isOpen = true;
    const asked = ask().finally(() => {
      isOpen = false;
    });
    const waiting = new AbortController();
    const late = clock.sleep(msMax, waiting.signal).then(() => undefined);
    return await Promise.race([asked, late]).finally(() => waiting.abort());
  };
}
