import { z } from 'zod';

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** A duration as settings and options have it (design 10): an integer with ms, s, m, h or d. Gives milliseconds. */
export const duration = z.string().transform((text, context) => {
  const match = /^([0-9]{1,9})(ms|s|m|h|d)$/.exec(text);
  const unitMs = UNIT_MS.get(match?.[2] ?? '');
  if (match === null || unitMs === undefined) {
    context.addIssue(`"${text}" is no duration; write an integer with ms, s, m, h or d, for example 45s`);
    return z.NEVER;
  }
  return Number.parseInt(match[1] ?? '', 10) * unitMs;
});
