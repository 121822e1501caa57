import { httpDate } from './answer.ts';

/** How long everybody waits because the service answered 429, shared by all workers. */
export interface Brake {
  /** Milliseconds until requests may be sent again; 0 when they may. */
  remainingMs(): number;
  /** Nobody sends anything for this long from now. */
  hold(ms: number): void;
}

/** The pause when the service says nothing usable about it, and the longest one that is believed (architecture.md). */
export const RETRY_AFTER_MS_DEFAULT = 5 * 1000;
export const RETRY_AFTER_MS_MAX = 5 * 60 * 1000;

/**
 * The pause that a 429 asks for, in milliseconds. `text` is `Retry-After` in whole seconds or as an HTTP date (RFC 9110
 * section 10.2.3), which is measured from the reply's own `date`, or from `now` without one; both in milliseconds since
 * 1970. Garbage, a pause that is over, and a missing header give the default.
 */
export function retryAfterMs(text: string | null, date: number | null, now: number): number {
  const pauseMs = text === null ? null : statedPauseMs(text.trim(), date ?? now);
  if (pauseMs === null || pauseMs <= 0) return RETRY_AFTER_MS_DEFAULT;
  return Math.min(pauseMs, RETRY_AFTER_MS_MAX);
}

function statedPauseMs(text: string, from: number): number | null {
  if (/^[0-9]+$/.test(text)) return Number.parseInt(text, 10) * 1000;
  const until = httpDate(text);
  return until === null ? null : until - from;
}
