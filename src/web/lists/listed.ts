import { z } from 'zod';

const PER_PAGE = 25;

/** Which page of a list is wanted, from 1. */
export const pageQuery = z.coerce.number().int().min(1).max(1_000_000).default(1);

/** What of a list stands on a page. */
export interface Listed<Item> {
  readonly shown: readonly Item[];
  readonly page: number;
  readonly pages: number;
}

/** A page of a list; beyond the last one is the last one. */
export function pageOf<Item>(all: readonly Item[], asked: number, perPage = PER_PAGE): Listed<Item> {
  const pages = Math.max(1, Math.ceil(all.length / perPage));
  const page = Math.min(asked, pages);
  return { shown: all.slice((page - 1) * perPage, page * perPage), page, pages };
}

/** What a column is sorted by; null stands last, whichever way it is sorted. */
type Sorted = string | number | null;

/** A list by one of its columns, with a minus before its name from the largest down; equal ones stay as they were. */
export function sortedBy<Item, Column extends string>(
  all: readonly Item[],
  sort: Column | `-${Column}`,
  columns: Readonly<Record<Column, (item: Item) => Sorted>>,
): readonly Item[] {
  const direction = sort.startsWith('-') ? -1 : 1;
  const names = Object.entries<(item: Item) => Sorted>(columns);
  const valueOf = names.find(([name]) => name === sort.replace(/^-/, ''))?.[1];
  if (valueOf === undefined) return all;
  return all.toSorted((one, other) => compare(valueOf(one), valueOf(other), direction));
}

function compare(one: Sorted, other: Sorted, direction: number): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  if (typeof one === 'number' && typeof other === 'number') return direction * (one - other);
  return direction * String(one).localeCompare(String(other), 'en');
}

/** A choice of columns, each way, for the address of a list. */
export function sortQuery<Column extends string>(columns: readonly Column[]) {
  return z.enum(columns.flatMap((column): (Column | `-${Column}`)[] => [column, `-${column}`]));
}
