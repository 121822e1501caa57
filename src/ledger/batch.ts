/** Nobody waits longer than this for the call before theirs: it may be to a Redis that is far away, or hangs. */
const BEHIND_MS_MAX = 20;

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Gathers what is asked for while a call is under way, or in one turn of the event loop, and flushes it as one call: a call costs
 * Redis and the worker more than an item of it. Each item gets the answer at its own place, be it an error, or the error of the
 * whole call.
 */
export function openBatch<Item, Answer>(
  itemsMax: number,
  flush: (items: readonly Item[]) => Promise<readonly (Answer | Error)[]>,
): (item: Item) => Promise<Answer> {
  let waiting: Waiting<Item, Answer>[] = [];
  let underWay = 0;
  let isPlanned = false;
  let behind: NodeJS.Timeout | undefined;

  async function send(batch: readonly Waiting<Item, Answer>[]): Promise<void> {
    underWay += 1;
    try {
      const answers = await flush(batch.map(({ item }) => item));
      batch.forEach(({ resolve, reject }, index) => {
        const answer = answers[index];
        if (answer instanceof Error) reject(answer);
        else if (answer === undefined) reject(new Error('a batch answered fewer items than it was given'));
        else resolve(answer);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      underWay -= 1;
      if (waiting.length > 0) plan();
    }
  }

  function sendAll(): void {
    clearTimeout(behind);
    behind = undefined;
    isPlanned = false;
    const all = waiting;
    waiting = [];
    for (let from = 0; from < all.length; from += itemsMax) void send(all.slice(from, from + itemsMax));
  }

  function plan(): void {
    if (isPlanned) return;
    if (underWay > 0) {
      behind ??= setTimeout(sendAll, BEHIND_MS_MAX);
      return;
    }
    isPlanned = true;
    setImmediate(sendAll);
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      plan();
    });
}
