import type { Clock } from '../../clock.ts';

/**
 * Counts what each person or program asks for, from their first request of a period on, in this process. Gives milliseconds
 * to wait, 0 for a request that may go on.
 */
export function openRate(
  clock: Pick<Clock, 'monotonic'>,
  { requestsMax, perMs }: { readonly requestsMax: number; readonly perMs: number },
): (who: string) => number {
  const periods = new Map<string, { readonly since: number; count: number }>();
  return (who) => {
    const now = clock.monotonic();
    const found = periods.get(who);
    const period = found === undefined || now >= found.since + perMs ? { since: now, count: 0 } : found;
    periods.set(who, period);
    period.count++;
    return period.count > requestsMax ? period.since + perMs - now : 0;
  };
}
