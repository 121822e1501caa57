import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

/** Time, injected so that tests and the simulation can own it. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970 (UTC). Never used to decide whether a payment may be sent. */
  now(): number;
  /** Milliseconds that never go back; the origin means nothing. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds, at once when the signal aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Randomness, injected for the same reason. */
export interface Random {
  /** Evenly spread in [0, 1). */
  fraction(): number;
  bytes(count: number): Buffer;
  uuid(): string;
}

/** A longer timer of Node's goes off at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    try {
      for (let left = ms; left > 0; left -= TIMER_MS_MAX) {
        await delay(Math.min(left, TIMER_MS_MAX), undefined, signal === undefined ? {} : { signal });
      }
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
  },
};

export const systemRandom: Random = {
  fraction: () => Math.random(),
  bytes: (count) => randomBytes(count),
  uuid: () => randomUUID(),
};

/** Epoch milliseconds as RFC 3339 UTC with milliseconds. */
export function rfc3339(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
