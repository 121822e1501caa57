const ANSWERS_REMEMBERED = 64;
/** An HTTP `Date` has whole seconds. */
const DATE_STEP_MS = 1000;

/** By how much the service's clock and our own differ, as its latest answers show it. */
export interface ClockDifference {
  /** An answer with this `Date`; when it was asked for and when it came, by our wall clock. All in milliseconds since 1970. */
  saw(date: number, at: { askedAt: number; answeredAt: number }): void;
  /** The largest difference of the answers that are remembered, in milliseconds. */
  ms(): number;
}

export function openClockDifference(): ClockDifference {
  const seen: number[] = [];
  return {
    saw(date, at) {
      seen.push(differenceOf(date, at));
      if (seen.length > ANSWERS_REMEMBERED) seen.shift();
    },
    ms: () => Math.max(0, ...seen),
  };
}

/** The least difference that explains the answer: a slow answer is no wrong clock. */
function differenceOf(date: number, { askedAt, answeredAt }: { askedAt: number; answeredAt: number }): number {
  return Math.max(0, date - answeredAt, askedAt - (date + DATE_STEP_MS));
}
