/**
 * Places for requests under way at the service, so that each has work while other payouts wait for a disk or for Redis. Only a quote
 * waits for one: a payment is armed by then, and has to be sent before a deadline.
 */
export interface Places {
  /** Sends once fewer quotes and payments than there are places are under way. */
  quote<T>(send: () => Promise<T>): Promise<T>;
  /** Sends at once, and takes a place meanwhile. */
  payment<T>(send: () => Promise<T>): Promise<T>;
}

/**
 * How many payouts have requests in turn: more than places, for while the arming of one is synced, or its record is written, others
 * have its place. So many payments may be under way for a moment.
 */
export function payoutsAtATime(placesMax: number): number {
  return placesMax + Math.ceil(placesMax / 2);
}

export function openPlaces(placesMax: number): Places {
  let underWay = 0;
  const waiting = new Set<() => void>();
  const isFull = (): boolean => underWay >= placesMax;

  async function holding<T>(send: () => Promise<T>): Promise<T> {
    underWay++;
    try {
      return await send();
    } finally {
      underWay--;
      const [next] = waiting;
      if (next !== undefined && !isFull()) {
        waiting.delete(next);
        next();
      }
    }
  }

  return {
    async quote(send) {
      while (isFull()) await new Promise<void>((resolve) => waiting.add(resolve));
      return await holding(send);
    },
    payment: holding,
  };
}
