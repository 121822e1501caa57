import type { Clock } from '../../clock.ts';

const MINUTE_MS = 60_000;

/**
 * Counts what each key asks for, from the first request of a minute on, in this process. Gives milliseconds to wait, 0 for a
 * request that may go on.
 */
export function openKeyRate(clock: Pick<Clock, 'monotonic'>, requestsPerMinuteMax: number): (key: string) => number {
  const minutes = new Map<string, { readonly since: number; count: number }>();
  return (key) => {
    const now = clock.monotonic();
    const found = minutes.get(key);
    const minute = found === undefined || now >= found.since + MINUTE_MS ? { since: now, count: 0 } : found;
    minutes.set(key, minute);
    minute.count++;
    return minute.count > requestsPerMinuteMax ? minute.since + MINUTE_MS - now : 0;
  };
}
