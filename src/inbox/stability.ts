import type { Clock } from '../clock.ts';

/** Tells what has not changed between two looks. */
export interface Looks {
  /** Whether the thing looked the same before, at least so long ago. */
  isStable(key: string, signature: string): boolean;
  /** Forgets all but these. */
  keep(keys: ReadonlySet<string>): void;
}

/** A file that is still written to has another size or time at the second look. */
export function openLooks(clock: Pick<Clock, 'monotonic'>, stableMs: number): Looks {
  const seen = new Map<string, { signature: string; sinceMs: number }>();
  return {
    isStable(key, signature) {
      const nowMs = clock.monotonic();
      const before = seen.get(key);
      if (before?.signature === signature) return nowMs - before.sinceMs >= stableMs;
      seen.set(key, { signature, sinceMs: nowMs });
      return false;
    },
    keep(keys) {
      for (const key of seen.keys()) if (!keys.has(key)) seen.delete(key);
    },
  };
}
