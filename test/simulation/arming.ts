import type { ArmAnswer, Arming, ArmRefusal } from '../../src/ledger/payouts/acts.ts';
import { valueTexts } from '../../src/ledger/payouts/values.ts';
import { isInTable } from './move-table.ts';
import { applyMove, forget } from './moves.ts';
import { claimantsOf } from './references.ts';
import { type Entry, entryId, type Store, UNSENT } from './store.ts';

const ARMINGS_OF_A_QUOTE = 5;
const QUOTES_OF_A_PAYOUT = 5;

export interface ArmingAt {
  readonly dataDirId: string;
  /** The highest arming counter that the process ever saw. */
  readonly sawCounter: number;
  readonly now: number;
}

export function armPayout(store: Store, arming: Arming, { dataDirId, sawCounter, now }: ArmingAt): ArmAnswer {
  if (store.armings < sawCounter) closeSeason(store, now);
  const entry = store.entries.get(entryId(arming.runId, arming.line));
  const refusal = refusalOf(store, entry, { arming, dataDirId, now });
  if (refusal === 'reference') {
    return { armed: false, refusal, holder: otherClaimant(store, arming) ?? '' };
  }
  if (refusal !== undefined || entry === undefined) return { armed: false, refusal: refusal ?? 'changed' };
  store.references.set(arming.referenceHash, [entryId(arming.runId, arming.line)]);
  const counter = ++store.armings;
  if (entry.state === 'ready') {
    store.quotes.set(arming.quoteId, entryId(arming.runId, arming.line));
    entry.quotes++;
    entry.armings = 0;
    entry.quoteFailures = 0;
    forget(entry, ['nf', 'z2', 'lu']);
  }
  entry.attempts++;
  entry.armings++;
  entry.quote = arming.quoteId;
  entry.expiresAt = arming.quoteExpiresAt;
  entry.armedBy = arming.owner;
  entry.armedAt = now;
  entry.counter = counter;
  entry.credentials = arming.credentials;
  for (const [name, text] of valueTexts(arming.values)) entry.more[name] = text ?? '';
  const { owner: actor, exchange } = arming;
  applyMove(store, entry, { to: 'armed', now, actor, reason: '', exchange, dueMs: Math.ceil(arming.dueMs) });
  return { armed: true, version: entry.version, counter, armedAt: now };
}

function otherClaimant(store: Store, arming: Arming): string | undefined {
  return claimantsOf(store, arming.referenceHash).find((id) => id !== entryId(arming.runId, arming.line));
}

/** This Redis has forgotten armings that a process knows of: every directory compares anew. */
export function closeSeason(store: Store, now: number): void {
  store.season = `closed ${now}`;
  for (const dir of store.dirs.keys()) store.dirs.set(dir, '-');
}

function refusalOf(
  store: Store,
  entry: Entry | undefined,
  { arming, dataDirId, now }: Omit<ArmingAt, 'sawCounter'> & { arming: Arming },
): ArmRefusal | 'reference' | 'blocked' | 'given-up' | undefined {
  if (store.season !== store.server || store.dirs.get(dataDirId) !== store.server) return 'season';
  if (store.halt !== null) return 'halted';
  if (store.waitUntil > now) return 'wait';
  if (store.runs.get(arming.runId)?.state !== 'paying') return 'run';
  if (entry === undefined || entry.version !== arming.version || !isInTable(entry, 'armed', {})) return 'changed';
  if (entry.rowHash !== arming.rowSeal) return 'row';
  if (entry.more['gu'] !== undefined) return 'given-up';
  if (otherClaimant(store, arming) !== undefined) return 'reference';
  if (store.blocked.has(entry.row?.beneficiaryIdentityId ?? '')) return 'blocked';
  if (entry.state === 'quoted') {
    if (entry.quote !== arming.quoteId || entry.credentials !== arming.credentials) return 'changed';
    return entry.armings >= ARMINGS_OF_A_QUOTE ? 'armings' : undefined;
  }
  if (entry.quotes >= QUOTES_OF_A_PAYOUT) return 'quotes';
  return (store.quotes.get(arming.quoteId) ?? UNSENT) === UNSENT ? undefined : 'quote-taken';
}
