import { setImmediate } from 'node:timers/promises';

/** The items in pieces of so many; whatever else the process does has its turn after each. */
export async function* inTurns<Item>(
  items: readonly Item[],
  itemsATurn: number,
): AsyncGenerator<readonly Item[], void> {
  for (let at = 0; at < items.length; at += itemsATurn) {
    yield items.slice(at, at + itemsATurn);
    await setImmediate();
  }
}
