import { ENDS, type Entry, type Store } from './store.ts';

/** The payout that stands for a reference and has not given it free (design 6). */
export function holderOf(
  store: Store,
  hash: string,
  { own, rememberMs, now }: { own: string; rememberMs: number; now: number },
): string | undefined {
  const earlier = store.references.get(hash);
  if (earlier === undefined || earlier === own) return undefined;
  const entry = store.entries.get(earlier);
  if (entry !== undefined && isFree(entry)) return undefined;
  const usedAt = store.runs.get(earlier.slice(0, earlier.lastIndexOf('-')))?.createdAt ?? now;
  const isForgotten = now - usedAt > rememberMs && (entry === undefined || ENDS.includes(entry.state));
  return isForgotten ? undefined : earlier;
}

function isFree(entry: Entry): boolean {
  if (entry.state === 'rejected') return entry.quote === null || entry.more['ok'] !== undefined;
  return entry.state === 'cancelled' || entry.state === 'failed' || entry.state === 'returned';
}
