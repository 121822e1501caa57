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

/** The payout with which another one shares its reference: of several the first that has not come to nothing. */
export function holderBeside(store: Store, hash: string, own: string): { id: string; isOneOfSeveral: boolean } {
  const others = claimantsOf(store, hash).filter((id) => id !== own);
  const open = others.filter((id) => !isFree(store.entries.get(id)));
  const before = formerOf(store, hash).filter((id) => id !== own && !isFree(store.entries.get(id)));
  return { id: open[0] ?? before[0] ?? others[0] ?? '', isOneOfSeveral: open.length > 1 };
}

export function isFree(entry: Entry | undefined): boolean {
  if (entry === undefined) return false;
  if (entry.state === 'rejected') return entry.quote === null || entry.get('ok') !== undefined;
  return entry.state === 'cancelled' || entry.state === 'failed' || entry.state === 'returned';
}
