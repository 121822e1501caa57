import type { Clock } from '../clock.ts';
import { openBatch } from '../ledger/batch.ts';
import type { LedgerState } from '../ledger/season/ledger-state.ts';

const PLACES_PER_CALL_MAX = 1000;
/** Timers are late by some milliseconds in a busy process. */
const LATE_MS_MIN = 20;

/** A shared pace: resolves to the moment, in monotonic milliseconds, at which the next request may start. */
export interface Pace {
  /** Waits no longer once it is aborted. */
  take(signal?: AbortSignal): Promise<number>;
  /** Whoever comes later than this to its place, in milliseconds, takes another: late ones would go all at once. */
  readonly lateMsMax: number;
}

/** How long before a payout's place its quote is asked for: twice what quotes took lately, so that it is fresh and in time. */
export interface QuoteLead {
  ms(): number;
  saw(quoteMs: number): void;
}

const LEAD_MS_MIN = 100;
const LEAD_MS_MAX = 5000;

export function openQuoteLead(): QuoteLead {
  let usualMs = LEAD_MS_MIN;
  return {
    ms: () => Math.min(LEAD_MS_MAX, Math.max(LEAD_MS_MIN, 2 * usualMs)),
    saw(quoteMs) {
      usualMs += (quoteMs - usualMs) / 8;
    },
  };
}

/**
 * A pace shared by all processes: places are `1 / perSecond` apart, whoever takes them. Without a rate every place is
 * now. Places that are asked for in one turn of the event loop are taken in one call.
 */
export function openPace(
  head: Pick<LedgerState, 'takePace'>,
  clock: Clock,
  pace: { what: string; perSecond: number | undefined },
): Pace {
  const { what, perSecond } = pace;
  if (perSecond === undefined) return { take: async () => clock.monotonic(), lateMsMax: Number.POSITIVE_INFINITY };
  const take = openBatch(PLACES_PER_CALL_MAX, async (items: readonly null[]) => {
    const ms = await head.takePace(what, { count: items.length, perSecond });
    const first = clock.monotonic() + ms;
    return items.map((_, index) => first + (index * 1000) / perSecond);
  });
  return { take: () => take(null), lateMsMax: lateMsMax(perSecond) };
}

function lateMsMax(perSecond: number): number {
  return Math.max(LATE_MS_MIN, 2000 / perSecond);
}

/** So much of a second is given out at a time. */
const PART_MS = 100;

interface Taker {
  readonly resolve: (startAt: number) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The same for a rate that moves. A place that was given out stays, so none is given out before its quote has to be asked for:
 * what waits for a later one gets it at the rate of then.
 */
export function openMovingPace(
  head: Pick<LedgerState, 'takePace'>,
  clock: Clock,
  pace: { what: string; perSecond: () => Promise<number>; lead: QuoteLead },
): Pace {
  const waiting = new Set<Taker>();
  let isGiving = false;
  let lateMs = LATE_MS_MIN;

  async function givePart(): Promise<void> {
    const perSecond = await pace.perSecond();
    lateMs = lateMsMax(perSecond);
    const takers = [...waiting].slice(0, Math.max(1, Math.floor((perSecond * PART_MS) / 1000)));
    for (const taker of takers) waiting.delete(taker);
    try {
      const ms = await head.takePace(pace.what, { count: takers.length, perSecond });
      const first = clock.monotonic() + ms;
      takers.forEach(({ resolve }, index) => resolve(first + (index * 1000) / perSecond));
      await clock.sleep(ms + (takers.length * 1000) / perSecond - pace.lead.ms() - PART_MS);
    } catch (error) {
      for (const { reject } of takers) reject(error);
    }
  }

  async function give(): Promise<void> {
    if (isGiving) return;
    isGiving = true;
    while (waiting.size > 0) await givePart();
    isGiving = false;
  }

  return {
    get lateMsMax() {
      return lateMs;
    },
    async take(signal) {
      if (signal?.aborted === true) return clock.monotonic();
      const leaving = new AbortController();
      try {
        return await new Promise((resolve, reject) => {
          const taker = { resolve, reject };
          const leave = (): void => {
            waiting.delete(taker);
            resolve(clock.monotonic());
          };
          signal?.addEventListener('abort', leave, { signal: leaving.signal });
          waiting.add(taker);
          void give();
        });
      } finally {
        leaving.abort();
      }
    },
  };
}

/** Waits for a place that was taken, and for one further place if it was missed. */
export async function awaitPlace(
  deps: { pace: Pace; clock: Clock },
  startAt: number,
  signal: AbortSignal,
): Promise<void> {
  const { pace, clock } = deps;
  await clock.sleep(startAt - clock.monotonic(), signal);
  if (signal.aborted || clock.monotonic() - startAt <= pace.lateMsMax) return;
  await clock.sleep((await pace.take(signal)) - clock.monotonic(), signal);
}
