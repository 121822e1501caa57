const SECOND_MS = 1000;
const HOUR_MS = 3600 * SECOND_MS;

const RETRY_MS_MIN = SECOND_MS;
export const RETRY_MS_MAX = 6 * HOUR_MS;
/** A notification that waited so long and failed again is given up. */
export const GIVE_UP_MS = 3 * 24 * HOUR_MS;

/** Milliseconds until the next try after so many failures in a row: 1 s, doubled each time up to 6 h, of which a random half. */
export function retryDelayMs(failures: number, fraction: number): number {
  const full = Math.min(RETRY_MS_MIN * 2 ** Math.max(0, failures - 1), RETRY_MS_MAX);
  return Math.round(full / 2 + (full / 2) * fraction);
}

/** What becomes of a notification that was not delivered just now. */
export function afterFailure(
  { queuedAt, failures }: { queuedAt: number; failures: number },
  { nowMs, fraction }: { nowMs: number; fraction: number },
): { what: 'failed' | 'dead'; againMs: number } {
  const againMs = nowMs + retryDelayMs(failures + 1, fraction);
  return { what: nowMs - queuedAt >= GIVE_UP_MS ? 'dead' : 'failed', againMs };
}

/** What came of one try to deliver a notification. The reason is a code, never what the other side said. */
export type Sent = { readonly delivered: true } | { readonly delivered: false; readonly reason: string };
