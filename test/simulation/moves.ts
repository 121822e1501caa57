import type { AuditAct } from '../../src/audit/entry.ts';
import type { Deferred, MoveAnswer, PayoutMove } from '../../src/ledger/payouts/acts.ts';
import { valueTexts } from '../../src/ledger/payouts/values.ts';
import type { PayoutPlace } from '../../src/payout.ts';
import { outcomeOf, type PayoutState } from '../../src/payout.ts';
import { isInTable } from './move-table.ts';
import { holderBeside } from './references.ts';
import { ENDS, type Entry, entryId, type RowState, type RunEntry, type Store, UNSENT } from './store.ts';

/* What the scripts do to a payout, in memory. */

export function addTo(run: RunEntry, entry: Entry, change: { state: RowState; sign: 1 | -1 }): void {
  const { state, sign } = change;
  run.counts[state] += sign;
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
  if (to === 'accepted' && entry.row !== null) store.paid.add(entry.row.beneficiaryIdentityId);
  if (ENDS.includes(to)) entry.more['st'] = String(now);
  setDue(store, entry, { now, ms: move.dueMs });
  store.watch?.(entry, from, actor);
}

export function movePayout(store: Store, move: PayoutMove, now: number): MoveAnswer {
  const entry = store.entries.get(entryId(move.runId, move.line));
  if (entry === undefined) return { result: 'missing', version: 0, state: '', badOutcomes: 0 };
  const answer = (result: MoveAnswer['result'], badOutcomes = 0): MoveAnswer => {
    return { result, version: entry.version, state: entry.state, badOutcomes };
  };
  if (move.version !== undefined && entry.version !== move.version) return answer('changed');
  if (move.from !== undefined && entry.state !== move.from && entry.state !== move.to) return answer('changed');
  if (move.quoteId !== undefined && entry.quote !== move.quoteId) return answer('other-quote');
  const to = cancelledInstead(store, entry, move) ? 'cancelled' : move.to;
  if (to !== undefined && to !== entry.state && !isAllowed(store, entry, { move, to })) {
    store.refusedMoves++;
    return answer('forbidden');
  }
  const isDead = to === 'ready' && move.dropQuote === 'proven-dead';
  const isEnded = to !== entry.state && (to === 'cancelled' || to === 'rejected' || isDead);
  const isConfirmed = to === undefined && move.values?.rejectionConfirmed === true;
  if (isEnded && store.season !== store.server) return answer('season');
  if (!isAsSeen(store, entry, move)) return answer('changed');
  if (isConfirmed && store.season !== store.server) return answer('season');
  if (!claimPayment(store, entry, move.values?.paymentId)) return answer('payment-taken');
  if (to === entry.state) return answer('there');
  if (move.act !== undefined) store.auditWaiting = [...store.auditWaiting, JSON.parse(move.act) as AuditAct];
  if (to !== undefined) return answer('moved', changeState(store, entry, { move, to, now }));
  noteOn(store, entry, { move, now });
  return answer('moved');
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

/** Whether the payout that has the reference stands as people saw it who allow this one. */
function isAsSeen(store: Store, entry: Entry, { sawHolder }: PayoutMove): boolean {
  if (sawHolder === undefined || entry.duplicateOf === null) return true;
  const holder = holderBeside(store, entry.duplicateOf, entryId(entry.runId, entry.line));
  if (holder.isOneOfSeveral) return false;
  if (holder.id === '') return sawHolder.id === '';
  const seen = store.entries.get(holder.id);
  const state = seen === undefined || seen.rowHash === null ? '' : seen.state;
  return holder.id === sawHolder.id && state === sawHolder.state;
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

function noteOn(store: Store, entry: Entry, { move, now }: { move: PayoutMove; now: number }): void {
  write(entry, move, { hadQuote: entry.quote !== null });
  entry.version++;
  const run = store.runs.get(entry.runId);
  if (move.values?.paymentState !== undefined && run !== undefined) run.changes++;
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
  if (entry.state === 'held' && to === 'ready') allow(store, entry, move);
  write(entry, move, { hadQuote });
  const bad = noteOutcome(store.runs.get(entry.runId), entry, { to, remembered: move.outcomesRemembered });
  const { actor, reason, exchange = '' } = move;
  const dueMs = move.dueMs === 'as-it-is' ? undefined : ceil(move.dueMs);
  applyMove(store, entry, { to, now, actor, reason, exchange, dueMs });
  return bad;
}

/** People let a held payout go, whatever was given up before: it is what its reference stands for now, and a finished run is paid again. */
function allow(store: Store, entry: Entry, { actor, reason }: PayoutMove): void {
  delete entry.more['gu'];
  if (entry.duplicateOf !== null) store.references.set(entry.duplicateOf, [entryId(entry.runId, entry.line)]);
  const run = store.runs.get(entry.runId);
  if (run?.state !== 'finished') return;
  run.state = store.halt === null ? 'paying' : 'paused';
  if (store.halt !== null) run.pauseReason = 'everything was halted when a payout was allowed';
  run.finishedAt = null;
  delete run.fields['deadQuotesFound'];
  store.live.add(run.id);
  run.events.push({ event: run.state, actor, reason: `row ${entry.line} was allowed: ${reason}` });
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
    entry.quotes = Math.max(0, entry.quotes - 1);
    entry.attempts = Math.max(0, entry.attempts - 1);
  }
  entry.quote = null;
  entry.expiresAt = null;
  entry.armings = 0;
  forget(entry, ['ql', 'sam', 'dam', 'rt', 'fe', 'qa', 'nf', 'z2', 'lu']);
}

function write(entry: Entry, move: PayoutMove, { hadQuote }: { hadQuote: boolean }): void {
  for (const [name, text] of valueTexts(move.values)) {
    if (text === null) forget(entry, [name]);
    else if (name === 'rfh') entry.duplicateOf = text;
    else entry.more[name] = text;
  }
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
): Deferred | undefined {
  const entry = store.entries.get(entryId(place.runId, place.line));
  if (entry?.state !== 'ready') return undefined;
  setDue(store, entry, { now, ms: Math.ceil(ms) });
  if (quoteFailed) entry.quoteFailures++;
  entry.version++;
  return { failures: entry.quoteFailures, version: entry.version };
}
