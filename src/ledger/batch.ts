/**
 * Gathers what is asked for in one turn of the event loop and flushes it as one call. Each item gets the
 * answer at its own place, be it an error, or the error of the whole call.
 */
export function openBatch<Item, Answer>(
  itemsMax: number,
  flush: (items: readonly Item[]) => Promise<readonly (Answer | Error)[]>,
): (item: Item) => Promise<Answer> {
  interface Waiting {
    readonly item: Item;
    readonly resolve: (answer: Answer) => void;
    readonly reject: (error: unknown) => void;
  }
  let waiting: Waiting[] = [];

  async function send(batch: readonly Waiting[]): Promise<void> {
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
    }
  }

  function sendAll(): void {
    const all = waiting;
    waiting = [];
    for (let from = 0; from < all.length; from += itemsMax) void send(all.slice(from, from + itemsMax));
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(sendAll);
      waiting.push({ item, resolve, reject });
    });
}
