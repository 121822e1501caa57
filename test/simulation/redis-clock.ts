import { STEP_MS_MIN } from '../../src/ledger/scripts/prelude.ts';
import type { Store } from './store.ts';

const WAIT_MS_MAX = 300_000;

/** Whoever gives a time to something that waits notes the clock that it goes by. */
export function noteClock(store: Store, now: number): void {
  if (now - store.clockSeen > STEP_MS_MIN) store.clockSeen = now;
}

/** What waits for a time that a clock gave which has stepped back is due now. */
export function lookAtClock(store: Store, now: number): void {
  const stepped = store.clockSeen - now;
  store.clockSeen = now;
  if (store.waitUntil - now > WAIT_MS_MAX) store.waitUntil = 0;
  if (stepped <= STEP_MS_MIN) return;
  const waiting = [store.due, store.tracked, ...[...store.runs.values()].map(({ slices }) => slices)];
  for (const due of waiting) for (const [id, at] of due) if (at > now) due.set(id, now);
}
