import type { Clock } from '../clock.ts';

const ANSWERS_REMEMBERED = 64;
/** So that a clock that was set right counts as right soon, however few answers come. */
const REMEMBERED_MS = 60_000;
/** An HTTP `Date` has whole seconds. */
const DATE_STEP_MS = 1000;

/** By how much the service's clock and our own differ, as its latest answers show it. */
export interface ClockDifference {
  /** An answer with this `Date`; when it was asked for and when it came, by our wall clock. All in milliseconds since 1970. */
  saw(date: number, at: { askedAt: number; answeredAt: number }): void;
  /** The largest difference of the answers that are remembered, in milliseconds. */
  ms(): number;
}

export function openClockDifference(clock: Pick<Clock, 'monotonic'>): ClockDifference {
  const seen: { readonly ms: number; readonly at: number }[] = [];
  return {
    saw(date, at) {
      seen.push({ ms: differenceOf(date, at), at: clock.monotonic() });
      if (seen.length > ANSWERS_REMEMBERED) seen.shift();
    },
    ms() {
      const from = clock.monotonic() - REMEMBERED_MS;
      return seen.reduce((most, { ms, at }) => (at < from ? most : Math.max(most, ms)), 0);
    },
  };
}

/** The least difference that explains the answer: a slow answer is no wrong clock. */
function differenceOf(date: number, { askedAt, answeredAt }: { askedAt: number; answeredAt: number }): number {
  return Math.max(0, date - answeredAt, askedAt - (date + DATE_STEP_MS));
}
