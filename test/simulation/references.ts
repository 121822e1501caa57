import type { Entry, Store } from './store.ts';

export function claimantsOf(store: Store, hash: string): readonly string[] {
  return store.references.get(hash) ?? [];
}

/** The payout with which another one shares its reference: of several the first that has not come to nothing. */
export function holderBeside(store: Store, hash: string, own: string): { id: string; isOneOfSeveral: boolean } {
  const others = claimantsOf(store, hash).filter((id) => id !== own);
  const open = others.filter((id) => !isFree(store.entries.get(id)));
  return { id: open[0] ?? others[0] ?? '', isOneOfSeveral: open.length > 1 };
}

export function isFree(entry: Entry | undefined): boolean {
  if (entry === undefined) return false;
  if (entry.state === 'rejected') return entry.quote === null || entry.get('ok') !== undefined;
  return entry.state === 'cancelled' || entry.state === 'failed' || entry.state === 'returned';
}
