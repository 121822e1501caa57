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

/** Of so many pieces of them each is in order by itself. */
const SORTED_A_TURN = 4096;

/** All of them in order, equal ones as they stood; others have their turn meanwhile. */
export async function sortedInTurns<Item>(
  items: readonly Item[],
  compare: (one: Item, other: Item) => number,
): Promise<readonly Item[]> {
  let runs: Item[][] = [];
  for await (const piece of inTurns(items, SORTED_A_TURN)) runs.push(piece.toSorted(compare));
  while (runs.length > 1) {
    const longer: Item[][] = [];
    for (let at = 0; at < runs.length; at += 2) longer.push(await merged(runs[at] ?? [], runs[at + 1] ?? [], compare));
    runs = longer;
  }
  return runs[0] ?? [];
}

async function merged<Item>(
  ones: readonly Item[],
  others: readonly Item[],
  compare: (one: Item, other: Item) => number,
): Promise<Item[]> {
  const all: Item[] = [];
  let at = 0;
  for await (const piece of inTurns(ones, SORTED_A_TURN)) {
    for (const one of piece) {
      for (let other = others[at]; other !== undefined && compare(other, one) < 0; other = others[++at])
        all.push(other);
      all.push(one);
    }
  }
  return all.concat(others.slice(at));
}
