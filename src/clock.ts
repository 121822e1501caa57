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
  const ms = Math.trunc(epochMs);
  const day = Math.floor(ms / DAY_MS);
  if (day !== lastDay.day) {
    const text = new Date(ms).toISOString();
    lastDay = { day, text: text.slice(0, text.indexOf('T') + 1) };
  }
  const ofDay = ms - day * DAY_MS;
  const seconds = Math.floor(ofDay / 1000);
  const hour = twoDigits(Math.floor(seconds / 3600));
  const minute = twoDigits(Math.floor(seconds / 60) % 60);
  const fraction = String(ofDay % 1000).padStart(3, '0');
  return `${lastDay.text}${hour}:${minute}:${twoDigits(seconds % 60)}.${fraction}Z`;
}

/** The day in UTC, as `20260131`. */
export function dayText(epochMs: number): string {
  return rfc3339(epochMs).slice(0, 'YYYY-MM-DD'.length).replaceAll('-', '');
}

/** As `rfc3339`; null for what has no time. */
export function timeOrNull(epochMs: number | null): string | null {
  return epochMs === null ? null : rfc3339(epochMs);
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Most times that are written are of one day, which costs more than the rest. */
let lastDay = { day: Number.NaN, text: '' };

function twoDigits(number: number): string {
  return number < 10 ? `0${number}` : String(number);
}
