import type { Clock } from '../clock.ts';
import { openBatch } from '../ledger/batch.ts';
import type { Head } from '../ledger/head.ts';
import type { Pace } from './deps.ts';

const PLACES_PER_CALL_MAX = 1000;

/**
 * A pace shared by all processes: places are `1 / perSecond` apart, whoever takes them. Without a rate every place is
 * now. Places that are asked for in one turn of the event loop are taken in one call.
 */
export function openPace(
  head: Pick<Head, 'takePace'>,
  clock: Clock,
  pace: { what: string; perSecond: number | undefined },
): Pace {
  const { what, perSecond } = pace;
  if (perSecond === undefined) return { take: async () => clock.monotonic() };
  const take = openBatch(PLACES_PER_CALL_MAX, async (items: readonly null[]) => {
    const ms = await head.takePace(what, { count: items.length, perSecond });
    const first = clock.monotonic() + ms;
    return items.map((_, index) => first + (index * 1000) / perSecond);
  });
  return { take: () => take(null) };
}
