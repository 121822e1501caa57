import { z } from 'zod';

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** A hundred years: what is longer is a slip of the pen. */
const DURATION_MS_MAX = 36_500 * 86_400_000;

/** A duration as settings and options have it: an integer with ms, s, m, h or d. Gives milliseconds. */
export const duration = z
  .string()
  .transform((text, context) => {
    const match = /^([0-9]{1,9})(ms|s|m|h|d)$/.exec(text);
    const unitMs = UNIT_MS.get(match?.[2] ?? '');
    const ms = Number.parseInt(match?.[1] ?? '', 10) * (unitMs ?? Number.NaN);
    if (!(ms <= DURATION_MS_MAX)) {
      context.addIssue(`"${text}" is not a duration; write an integer with ms, s, m, h or d, for example 45s`);
      return z.NEVER;
    }
    return ms;
  })
  .meta({ takes: 'a duration' });

/** A duration within limits, which are told when it is not. */
export function durationFrom(min: string, max: string): z.ZodType<number, string> {
  const [minMs, maxMs] = [duration.parse(min), duration.parse(max)];
  return duration
    .refine((ms) => ms >= minMs && ms <= maxMs, { error: `must be from ${min} to ${max}` })
    .meta({ takes: `\`${min}\` to \`${max}\`` });
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** A duration for people, rounded up: seconds below two minutes, minutes below two hours, then hours. */
export function durationText(ms: number): string {
  if (ms < SECOND_MS) return 'a second';
  if (ms < 2 * MINUTE_MS) return `${Math.ceil(ms / SECOND_MS)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.ceil(ms / MINUTE_MS)} min`;
  return `${Math.ceil(ms / HOUR_MS)} h`;
}

/** For how long the reference of a payout that has ended counts as used, in ms, unless PAYRUN_REMEMBER says otherwise. */
export const REMEMBER_MS = 400 * 86_400_000;

/** How far back likely duplicates are looked for, unless that is set. */
export const LIKELY_MS = 7 * 86_400_000;

/** Who records rows of a run says so at least that often; nobody does any more after it. */
export const RECORDING_QUIET_MS = 60_000;
