import type { Money } from '../../money.ts';

/** Keeps the largest of each currency. */
export interface Largest<Item> {
  add(item: Item): void;
  /** In alphabetic order of currencies, in each the largest first. */
  result(): Item[];
}

export function openLargest<Item extends { readonly amount: Money }>(most: number): Largest<Item> {
  const largest = new Map<string, Item[]>();
  return {
    add(item) {
      const { currency, minor } = item.amount;
      const items = largest.get(currency) ?? [];
      largest.set(currency, items);
      const at = items.findIndex(({ amount }) => amount.minor < minor);
      if (at === -1 && items.length >= most) return;
      items.splice(at === -1 ? items.length : at, 0, item);
      if (items.length > most) items.pop();
    },
    result: () => [...largest].toSorted(([one], [other]) => (one < other ? -1 : 1)).flatMap(([, items]) => items),
  };
}
