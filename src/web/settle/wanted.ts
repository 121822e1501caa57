import { z } from 'zod';
import { type SettleFilter, type SettlePlace, TO_SETTLE } from '../../runs/decide/to-settle.ts';
import { hrefWith } from '../lists/href.ts';

const HOUR_MS = 60 * 60_000;
const HOURS_MAX = 100_000;

/** Which payouts a page of what is to settle has, and on which it begins; '' for any. */
export const settleQuery = {
  run: z.string().trim().max(64).default(''),
  state: z.union([z.literal(''), z.enum(TO_SETTLE)]).default(''),
  reason: z.string().trim().max(200).default(''),
  hours: z
    .union([z.literal(''), z.coerce.number().int().min(1).max(HOURS_MAX)])
    .default('')
    .describe('Only what has waited so many hours'),
  from: z
    .string()
    .max(80)
    .regex(/^(.+-[0-9]{1,15})?$/)
    .default('')
    .describe('The id of the payout with which the page begins'),
};
const query = z.strictObject(settleQuery);
type SettleQuery = z.output<typeof query>;
/** What the list is narrowed down to. */
export type SettleWanted = Omit<SettleQuery, 'from'>;

/** The same as it is looked for; `now` is milliseconds since 1970. */
export function filterOf(
  { run, state, reason, hours, from }: SettleQuery,
  now: number,
): SettleFilter & { from: SettlePlace | null } {
  const dash = from.lastIndexOf('-');
  return {
    from: from === '' ? null : { runId: from.slice(0, dash), line: Number.parseInt(from.slice(dash + 1), 10) },
    run: run || undefined,
    state: state || undefined,
    reason: reason || undefined,
    before: hours === '' ? undefined : now - hours * HOUR_MS,
  };
}

/** The list, narrowed down. */
export function hrefOfList(wanted: Partial<SettleQuery>): string {
  return hrefWith('/to-settle', wanted);
}
