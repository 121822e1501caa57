import { ENDS, type Entry, type Store } from './store.ts';

/** The payout that stands for a reference and has not given it free. */
export function holderOf(
  store: Store,
  hash: string,
  { own, rememberMs, now }: { own: string; rememberMs: number; now: number },
): string | undefined {
  return claimantsOf(store, hash).find((id) => {
    const entry = store.entries.get(id);
    if (id === own || isFree(entry)) return false;
    if (entry !== undefined && !ENDS.includes(entry.state)) return true;
    const finishedAt = store.runs.get(id.slice(0, id.lastIndexOf('-')))?.finishedAt;
    const settledAt = Number.parseInt(entry?.more['st'] ?? '', 10) || (finishedAt ?? now);
    return now - settledAt <= rememberMs;
  });
}

export function claimantsOf(store: Store, hash: string): readonly string[] {
  return store.references.get(hash) ?? [];
}

/** The payout with which another one shares its reference: of several the first that has not come to nothing. */
export function holderBeside(store: Store, hash: string, own: string): { id: string; isOneOfSeveral: boolean } {
  const others = claimantsOf(store, hash).filter((id) => id !== own);
  const open = others.filter((id) => !isFree(store.entries.get(id)));
  return { id: open[0] ?? others[0] ?? '', isOneOfSeveral: open.length > 1 };
}

/** The payout that gave a reference free before a data directory was written off. */
export function freedBefore(store: Store, hash: string, own: string): string | undefined {
  return claimantsOf(store, hash).find((id) => {
    const entry = store.entries.get(id);
    return id !== own && isFree(entry) && Number.parseInt(entry?.more['st'] ?? '0', 10) <= store.lostAt;
  });
}

export function isFree(entry: Entry | undefined): boolean {
  if (entry === undefined) return false;
  if (entry.state === 'rejected') return entry.quote === null || entry.more['ok'] !== undefined;
  return entry.state === 'cancelled' || entry.state === 'failed' || entry.state === 'returned';
}
