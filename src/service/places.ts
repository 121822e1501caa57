import type { Clock } from '../clock.ts';

/**
 * Places for requests under way at the service, so that each connection has work while other payouts wait for a disk or for Redis. A
 * payment comes before any quote: its payout is armed, and has to be sent before a deadline.
 */
export interface Places {
  /** Sends once there is a place. */
  quote<T>(send: () => Promise<T>): Promise<T>;
  /** The same; at `sendBefore`, in monotonic milliseconds, it sends without a place, and finds that it is too late. */
  payment<T>(send: () => Promise<T>, sendBefore: number): Promise<T>;
}

/** Timers go off a fraction of a millisecond early. */
const EARLY_MS_MAX = 1;

export function openPlaces(placesMax: number, clock: Clock): Places {
  let taken = 0;
  const payments = new Set<() => void>();
  const quotes = new Set<() => void>();

  function free(): void {
    const waiting = payments.size > 0 ? payments : quotes;
    const [next] = waiting;
    if (next === undefined) {
      taken--;
      return;
    }
    waiting.delete(next);
    next();
  }

  async function holding<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } finally {
      free();
    }
  }

  return {
    async quote(send) {
      if (taken < placesMax) taken++;
      else await new Promise<void>((resolve) => quotes.add(resolve));
      return await holding(send);
    },
    async payment(send, sendBefore) {
      if (taken < placesMax) {
        taken++;
        return await holding(send);
      }
      const left = new AbortController();
      const hasPlace = await new Promise<boolean>((resolve) => {
        const take = (): void => resolve(true);
        payments.add(take);
        void clock
          .sleep(sendBefore - clock.monotonic() + EARLY_MS_MAX, left.signal)
          .then(() => resolve(!payments.delete(take)));
      });
      left.abort();
      return hasPlace ? await holding(send) : await send();
    },
  };
}
