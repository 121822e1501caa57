import type {
  ArmAnswer,
  Arming,
  ArmRefusal,
  MoveAnswer,
  PayoutMove,
  PayoutPlace,
  PayoutReading,
} from '../../src/ledger/payouts.ts';
import { DECISIONS, outcomeOf, type Payout, type PayoutState } from '../../src/payout.ts';
import { type Entry, entryId, type RowState, type RunEntry, type Store } from './store.ts';

/*
 * What the scripts do to a payout, in memory. The table is written out from design 4 once more, so that a slip in the
 * program's table shows when both ledgers play the same moves.
 */

type Guard = 'any' | 'sent' | 'never-sent' | 'not-sent' | 'proven-dead';

const TABLE: Readonly<Record<RowState, Readonly<Partial<Record<PayoutState, Guard>>>>> = {
  ready: { armed: 'any', held: 'any', rejected: 'any', cancelled: 'any' },
  armed: { accepted: 'any', quoted: 'any', ready: 'not-sent', rejected: 'any', unknown: 'any' },
  quoted: { armed: 'any', unknown: 'any', accepted: 'any', held: 'any' },
  unknown: { accepted: 'any', ready: 'proven-dead', cancelled: 'proven-dead', held: 'any' },
  rejected: { accepted: 'sent' },
  held: { ready: 'never-sent', cancelled: 'never-sent', accepted: 'sent', rejected: 'sent' },
  accepted: { completed: 'any', failed: 'any', returned: 'any' },
  completed: { returned: 'any' },
  failed: {},
  returned: {},
  cancelled: {},
  refused: {},
};

const ARMINGS_OF_A_QUOTE = 5;
const QUOTES_OF_A_PAYOUT = 5;
/** Stands in the place of the payout of a quote that was armed and never sent. */
export const UNSENT = '-';
const ENDS: readonly RowState[] = ['completed', 'failed', 'returned', 'rejected', 'cancelled'];
const PAID: readonly RowState[] = ['accepted', 'completed', 'failed', 'returned'];

/** Whether design 4 has the move. A breach may hold anything, with its quote. */
function isInTable(
  entry: Entry,
  to: PayoutState,
  { drops, breach }: { drops?: string | undefined; breach?: boolean | undefined },
): boolean {
  if (breach === true) return to === 'held' && entry.state !== 'held' && drops === undefined;
  const guard = TABLE[entry.state][to];
  if (guard === undefined) return false;
  if (guard === 'not-sent' || guard === 'proven-dead') return drops === guard;
  if (drops !== undefined) return false;
  return guard === 'any' || (guard === 'sent') === (entry.quote !== null);
}

export function addTo(run: RunEntry, entry: Entry, change: { state: RowState; sign: 1 | -1 }): void {
  const { state, sign } = change;
  run.counts[state] = (run.counts[state] ?? 0) + sign;
  if (entry.amount === null) return;
  const key = `${entry.amount.currency} ${outcomeOf(state)}`;
  run.amounts.set(key, (run.amounts.get(key) ?? 0n) + BigInt(sign) * entry.amount.minor);
}

export function setDue(store: Store, entry: Entry, when: { now: number; ms: number | undefined }): void {
  const id = entryId(entry.runId, entry.line);
  store.due.delete(id);
  store.tracked.delete(id);
  if (entry.state === 'ready') {
    store.runs.get(entry.runId)?.slices.set(`${entry.line}-${entry.line}`, when.now + (when.ms ?? 0));
  } else if (when.ms !== undefined) {
    (entry.state === 'accepted' ? store.tracked : store.due).set(id, when.now + when.ms);
  }
}

/** Makes a move that may be made. */
export function applyMove(
  store: Store,
  entry: Entry,
  move: { to: PayoutState; now: number; actor: string; reason: string; exchange?: string; dueMs?: number | undefined },
): void {
  const { to, now, actor, reason, exchange = '' } = move;
  const from = entry.state;
  const run = store.runs.get(entry.runId);
  if (run !== undefined) {
    addTo(run, entry, { state: from, sign: -1 });
    addTo(run, entry, { state: to, sign: 1 });
    run.changes++;
  }
  entry.state = to;
  entry.version++;
  entry.history.push({ at: now, to, actor, reason, exchange });
  delete entry.more['pr'];
  if (ENDS.includes(to)) entry.more['st'] = String(now);
  setDue(store, entry, { now, ms: move.dueMs });
  store.watch?.(entry, from, actor);
}

export interface ArmingAt {
  readonly dataDirId: string;
  /** The highest arming counter that the process ever saw. */
  readonly sawCounter: number;
  readonly now: number;
}

export function armPayout(store: Store, arming: Arming, { dataDirId, sawCounter, now }: ArmingAt): ArmAnswer {
  if (store.armings < sawCounter) closeSeason(store);
  const entry = store.entries.get(entryId(arming.runId, arming.line));
  const refusal = refusalOf(store, entry, { arming, dataDirId, now });
  if (refusal !== undefined || entry === undefined) return { armed: false, refusal: refusal ?? 'changed' };
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
  Object.assign(entry.more, arming.fields);
  const { owner: actor, exchange } = arming;
  applyMove(store, entry, { to: 'armed', now, actor, reason: '', exchange, dueMs: Math.ceil(arming.dueMs) });
  return { armed: true, version: entry.version, counter, armedAt: now };
}

/** This Redis has forgotten armings that a process knows of: every directory compares anew. */
export function closeSeason(store: Store): void {
  store.season = '';
  for (const dir of store.dirs.keys()) store.dirs.set(dir, '-');
}

function refusalOf(
  store: Store,
  entry: Entry | undefined,
  { arming, dataDirId, now }: Omit<ArmingAt, 'sawCounter'> & { arming: Arming },
): ArmRefusal | undefined {
  if (store.season !== store.server || store.dirs.get(dataDirId) !== store.server) return 'season';
  if (store.halt !== null) return 'halted';
  if (store.waitUntil > now) return 'wait';
  if (store.runs.get(arming.runId)?.state !== 'paying') return 'run';
  if (entry === undefined || entry.version !== arming.version || !isInTable(entry, 'armed', {})) return 'changed';
  if (entry.rowHash !== arming.rowHash) return 'row';
  if (entry.state === 'quoted') {
    if (entry.quote !== arming.quoteId || entry.credentials !== arming.credentials) return 'changed';
    return entry.armings >= ARMINGS_OF_A_QUOTE ? 'armings' : undefined;
  }
  if (entry.quotes >= QUOTES_OF_A_PAYOUT) return 'quotes';
  return (store.quotes.get(arming.quoteId) ?? UNSENT) === UNSENT ? undefined : 'quote-taken';
}

export function movePayout(store: Store, asked: PayoutMove, now: number): MoveAnswer {
  const entry = store.entries.get(entryId(asked.runId, asked.line));
  if (entry === undefined) return { result: 'missing', version: 0, state: '', badOutcomes: 0 };
  const move = heldInstead(store, entry, { move: asked, now }) ?? asked;
  const answer = (result: MoveAnswer['result'], badOutcomes = 0): MoveAnswer => {
    return { result, version: entry.version, state: entry.state, badOutcomes };
  };
  if (move.version !== undefined && entry.version !== move.version) return answer('changed');
  if (move.quoteId !== undefined && entry.quote !== move.quoteId) return answer('other-quote');
  const to = cancelledInstead(store, entry, move) ? 'cancelled' : move.to;
  if (to !== undefined && to !== entry.state && !isAllowed(store, entry, { move, to })) {
    store.refusedMoves++;
    return answer('forbidden');
  }
  if (!claimPayment(store, entry, move.fields?.['pid'])) return answer('payment-taken');
  if (to === entry.state) return answer('there');
  if (to !== undefined) return answer('moved', changeState(store, entry, { move, to, now }));
  noteOn(store, entry, { move, now });
  return answer('moved');
}

/** A payout that was restored beside a later one with its reference is not paid again without people. */
function heldInstead(
  store: Store,
  entry: Entry,
  { move, now }: { move: PayoutMove; now: number },
): PayoutMove | undefined {
  if (move.to !== 'ready' || entry.state !== 'unknown' || entry.duplicateOf === null) return undefined;
  if (cancelledInstead(store, entry, move)) return undefined;
  const own = entryId(entry.runId, entry.line);
  const holder = holderOf(store, entry.duplicateOf, { own, rememberMs: Number.POSITIVE_INFINITY, now });
  if (holder === undefined) return undefined;
  const { dropQuote: _kept, ...rest } = move;
  const rs = `the reference was used by payout ${holder}`;
  return { ...rest, to: 'held', reason: 'E_DUP_HISTORY', fields: { rc: 'E_DUP_HISTORY', rs } };
}

function cancelledInstead(store: Store, entry: Entry, move: PayoutMove): boolean {
  const isBuried = move.to === 'ready' && move.cancelledIfRunIs === true && entry.state === 'unknown';
  return isBuried && store.runs.get(move.runId)?.state === 'cancelled';
}

function isAllowed(store: Store, entry: Entry, { move, to }: { move: PayoutMove; to: PayoutState }): boolean {
  if (!isInTable(entry, to, { drops: move.dropQuote, breach: move.breach })) return false;
  if (move.dropQuote === 'not-sent' && entry.armings > 1) return false;
  if (entry.state !== 'held' || to !== 'ready') return true;
  const state = store.runs.get(entry.runId)?.state;
  return state === 'paying' || state === 'paused' || state === 'finished';
}

/** A payment belongs to one payout; one whose id is its quote's was claimed by the arming. */
function claimPayment(store: Store, entry: Entry, paymentId: string | undefined): boolean {
  if (paymentId === undefined) return true;
  const id = entryId(entry.runId, entry.line);
  const owner = store.quotes.get(paymentId) ?? UNSENT;
  if (owner !== UNSENT) return owner === id;
  store.quotes.set(paymentId, id);
  return true;
}

/** The payout that stands for a reference and has not given it free (design 6). */
export function holderOf(
  store: Store,
  hash: string,
  { own, rememberMs, now }: { own: string; rememberMs: number; now: number },
): string | undefined {
  const earlier = store.references.get(hash);
  if (earlier === undefined || earlier === own) return undefined;
  const entry = store.entries.get(earlier);
  const settled: readonly (RowState | undefined)[] = ['completed', 'failed', 'returned', 'rejected', 'cancelled'];
  if (entry !== undefined && isFree(entry)) return undefined;
  const usedAt = store.runs.get(earlier.slice(0, earlier.lastIndexOf('-')))?.createdAt ?? now;
  const isForgotten = now - usedAt > rememberMs && (entry === undefined || settled.includes(entry.state));
  return isForgotten ? undefined : earlier;
}

function isFree(entry: Entry): boolean {
  if (entry.state === 'rejected') return entry.quote === null || entry.more['ok'] !== undefined;
  return entry.state === 'cancelled' || entry.state === 'failed' || entry.state === 'returned';
}

function noteOn(store: Store, entry: Entry, { move, now }: { move: PayoutMove; now: number }): void {
  write(entry, move, { hadQuote: entry.quote !== null });
  entry.version++;
  const run = store.runs.get(entry.runId);
  if (move.fields?.['ps'] !== undefined && run !== undefined) run.changes++;
  if (move.dueMs !== 'as-it-is') setDue(store, entry, { now, ms: ceil(move.dueMs) });
}

/** Gives how many of the run's last outcomes are bad, when the move tells one. */
function changeState(
  store: Store,
  entry: Entry,
  { move, to, now }: { move: PayoutMove; to: PayoutState; now: number },
): number {
  const hadQuote = entry.quote !== null;
  if (hadQuote && move.dropQuote !== undefined) dropQuote(store, entry, move.dropQuote);
  write(entry, move, { hadQuote });
  if (entry.state === 'held' && to === 'ready') allow(store, entry, move);
  const bad = noteOutcome(store.runs.get(entry.runId), entry, { to, remembered: move.outcomesRemembered });
  const { actor, reason, exchange = '' } = move;
  const dueMs = move.dueMs === 'as-it-is' ? undefined : ceil(move.dueMs);
  applyMove(store, entry, { to, now, actor, reason, exchange, dueMs });
  return bad;
}

/** People let a held payout go: it is what its reference stands for now, and a finished run is paid again. */
function allow(store: Store, entry: Entry, { actor, reason }: PayoutMove): void {
  if (entry.duplicateOf !== null) store.references.set(entry.duplicateOf, entryId(entry.runId, entry.line));
  const run = store.runs.get(entry.runId);
  if (run?.state !== 'finished') return;
  run.state = store.halt === null ? 'paying' : 'paused';
  if (store.halt !== null) run.pauseReason = 'everything was halted when a payout was allowed';
  run.finishedAt = null;
  delete run.fields['deadQuotesFound'];
  store.live.add(run.id);
  run.events.push({ event: run.state, actor, reason });
}

function noteOutcome(
  run: RunEntry | undefined,
  { state }: Entry,
  { to, remembered }: { to: PayoutState; remembered: number | undefined },
): number {
  const isAnswered = state === 'armed' && (to === 'accepted' || to === 'unknown' || to === 'rejected');
  const isRefused = state === 'ready' && to === 'rejected';
  if (run === undefined || remembered === undefined || !(isAnswered || isRefused)) return 0;
  const kept = `${run.fields['lastOutcomes'] ?? ''}${to === 'accepted' ? '0' : '1'}`.slice(-remembered);
  run.fields['lastOutcomes'] = kept;
  return kept.replaceAll('0', '').length;
}

function dropQuote(store: Store, entry: Entry, why: 'not-sent' | 'proven-dead'): void {
  const quoteId = entry.quote ?? '';
  if (why === 'proven-dead') store.runs.get(entry.runId)?.dead.push({ line: entry.line, quoteId });
  else {
    store.quotes.set(quoteId, UNSENT);
    entry.quotes--;
    entry.attempts--;
  }
  entry.quote = null;
  entry.expiresAt = null;
  entry.armings = 0;
  forget(entry, ['ql', 'sam', 'dam', 'rt', 'fe', 'qa', 'nf', 'z2', 'lu']);
}

function write(entry: Entry, move: PayoutMove, { hadQuote }: { hadQuote: boolean }): void {
  if (move.fields !== undefined) Object.assign(entry.more, move.fields);
  if (move.without !== undefined) forget(entry, move.without);
  if (move.spentQuoteId !== undefined && !hadQuote) entry.quote = move.spentQuoteId;
}

export function forget(entry: Entry, names: readonly string[]): void {
  for (const name of names) delete entry.more[name];
  if (names.includes('qf')) entry.quoteFailures = 0;
}

function ceil(ms: number | 'as-it-is' | undefined): number | undefined {
  return typeof ms === 'number' ? Math.ceil(ms) : undefined;
}

/** The payout to which a quote or a payment belongs. */
export function holderOfQuote(store: Store, id: string): string | undefined {
  const holder = store.quotes.get(id);
  return holder === UNSENT ? undefined : holder;
}

export function deferPayout(
  store: Store,
  place: PayoutPlace,
  { ms, quoteFailed, now }: { ms: number; quoteFailed: boolean; now: number },
): number | undefined {
  const entry = store.entries.get(entryId(place.runId, place.line));
  if (entry?.state !== 'ready') return undefined;
  setDue(store, entry, { now, ms: Math.ceil(ms) });
  if (quoteFailed) entry.quoteFailures++;
  return entry.quoteFailures;
}

export function readPayout(store: Store, { runId, line }: PayoutPlace, now: number): PayoutReading {
  const entry = store.entries.get(entryId(runId, line));
  return {
    payout: entry === undefined ? undefined : payoutOf(entry),
    waitMs: Math.max(0, store.waitUntil - now),
    halt: store.halt,
    disproved: [...store.disproved],
    now,
  };
}

/** The payout as its record shows it; undefined while the record lacks its row. */
export function payoutOf(entry: Entry): Payout | undefined {
  const { row, rowHash, state, quote, more } = entry;
  if (row === null || rowHash === null || state === 'refused') return undefined;
  return {
    runId: entry.runId,
    line: entry.line,
    row,
    rowHash,
    version: entry.version,
    state,
    quoteId: quote,
    quoteExpiresAt: entry.expiresAt,
    quoteLifeMs: numberIn(more['ql']),
    attempts: entry.attempts,
    armings: entry.armings,
    quotes: entry.quotes,
    armingCounter: entry.counter,
    armedBy: entry.armedBy,
    armedAt: entry.armedAt,
    credentials: entry.credentials,
    notFoundAt: numberIn(more['nf']),
    seen2xx: more['z2'] !== undefined,
    rejectionConfirmed: more['ok'] !== undefined,
    quoteFailures: entry.quoteFailures,
    lookUps: numberIn(more['lu']) ?? 0,
    paymentId: more['pid'] ?? (PAID.includes(state) ? quote : null),
    paymentState: more['ps'] ?? null,
    sourceAmount: moneyIn(more['sam'], row.sourceCurrency),
    destinationAmount: moneyIn(more['dam'], row.destinationCurrency),
    rate: more['rt'] ?? null,
    fees: feesIn(more['fe']),
    reasonCode: more['rc'] ?? null,
    reason: more['rs'] ?? null,
    quotedAt: numberIn(more['qa']),
    sentAt: quote === null ? null : entry.armedAt,
    settledAt: numberIn(more['st']),
    proposal: proposalIn(more['pr']),
    history: [...entry.history],
  };
}

function proposalIn(text: string | undefined): Payout['proposal'] {
  if (text === undefined) return null;
  const [word, by = '', at = '', paymentId = '', reason = ''] = text.split('\u001f');
  const decision = DECISIONS.find((known) => known === word);
  return decision === undefined ? null : { decision, by, at: Number.parseInt(at, 10), paymentId, reason };
}

function numberIn(text: string | undefined): number | null {
  return text === undefined ? null : Number.parseInt(text, 10);
}

function moneyIn(text: string | undefined, currency: string): Payout['sourceAmount'] {
  return text === undefined ? null : { minor: BigInt(text), currency };
}

function feesIn(text: string | undefined): Payout['fees'] {
  return (text ?? '')
    .split(',')
    .filter(Boolean)
    .map((fee) => ({ minor: BigInt(fee.split(' ')[0] ?? ''), currency: fee.split(' ')[1] ?? '' }));
}
