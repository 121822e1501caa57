import type { Entry, Store } from './store.ts';

export function claimantsOf(store: Store, hash: string): readonly string[] {
  return store.references.get(hash) ?? [];
}

export function formerOf(store: Store, hash: string): readonly string[] {
  return store.formerly.get(hash) ?? [];
}

/** The payouts for which a reference stands, and those that had it before, if they have not come to nothing. */
export function standingOf(store: Store, hash: string): readonly string[] {
  return [...claimantsOf(store, hash), ...formerOf(store, hash).filter((id) => !isFree(store.entries.get(id)))];
}

/** The payouts with which another one shares its reference, or that had it before: all that have not come to nothing, else the first. */
export function holdersBeside(store: Store, hash: string, own: string): readonly string[] {
  const all = new Set([...claimantsOf(store, hash), ...formerOf(store, hash)]);
  const others = [...all].filter((id) => id !== own);
  const open = others.filter((id) => !isFree(store.entries.get(id)));
  return open.length > 0 ? open : others.filter((id) => claimantsOf(store, hash).includes(id)).slice(0, 1);
}

export function isFree(entry: Entry | undefined): boolean {
  if (entry === undefined) return false;
  if (entry.state === 'rejected') return entry.quote === null || entry.get('ok') !== undefined;
  return entry.state === 'cancelled' || entry.state === 'failed' || entry.state === 'returned';
}
