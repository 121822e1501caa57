import { hash as digest } from 'node:crypto';
import { mayMove } from '../../moves.ts';
import { FREE_STATES, PAYMENT_STATES, type PayoutState, placeOfId } from '../../payout.ts';
import { BENEFICIARY_HASH_CHARACTERS, blockOf } from '../keys.ts';
import type { MoveResult, PayoutMove } from './acts.ts';
import type { Holder } from './duplicates.ts';
import { COMMIT_TIME, type NewStep, type RowState, type StoredPayout } from './stored.ts';
import { type PayoutValues, valueTexts } from './values.ts';

/** A check, a claim or an effect of a commit: its name and arguments (scripts/commit.ts). */
export type Operation = readonly [name: string, ...args: (string | number)[]];

/** A record that takes the place of one that was read. */
export interface Change {
  readonly runId: string;
  readonly line: number;
  /** The record that it replaces; undefined: there is none. */
  readonly before: StoredPayout | undefined;
  readonly after: StoredPayout;
  /** Comes to the history of `after`. */
  readonly step?: NewStep | undefined;
  /** Milliseconds until the payout wants something; undefined: nothing, or as it is. */
  readonly dueMs?: number | undefined;
  /** Checks first, then claims, then the rest. */
  readonly operations: readonly Operation[];
  /** The payout is where it was to come to; only claims are made. */
  readonly isThere?: boolean;
}

export type MoveDecision =
  | { readonly kind: 'change'; readonly change: Change }
  | { readonly kind: 'refused'; readonly result: MoveResult };

/** What a move depends on beside the payout's own record. */
export interface MoveContext {
  /** Whether its run was seen to be cancelled. */
  readonly runIsCancelled: boolean;
  /** Of a payout whose reference others may have: who has it. Undefined where nobody asked. */
  readonly holders?: ReferenceHolders | undefined;
}

export interface ReferenceHolders {
  /** What the reference stands for, as it is stored. */
  readonly claimants: string;
  readonly others: readonly Holder[];
}

/** States at whose beginning a payout is settled. */
const SETTLED: ReadonlySet<RowState> = new Set(['completed', 'failed', 'returned', 'rejected', 'cancelled']);

/** What goes with a quote. */
const QUOTE_VALUES = ['q', 'x', 'qs', 'ql', 'sam', 'dam', 'rt', 'fe', 'qa', 'nf', 'z2', 'lu', 'ar'];

/** What a move, or a note, makes of a record. */
export function decideMove(record: StoredPayout | undefined, move: PayoutMove, context: MoveContext): MoveDecision {
  if (record === undefined) return { kind: 'refused', result: 'missing' };
  const isCancelled = move.cancelledIfRunIs === true && record.state === 'unknown' && context.runIsCancelled;
  const to = move.to === 'ready' && isCancelled ? 'cancelled' : move.to;
  const refused = whyRefused(record, move, to);
  if (refused !== undefined) return { kind: 'refused', result: refused };
  if (!isAsSeen(move, context.holders)) {
    if (to === undefined || to === record.state) return { kind: 'refused', result: 'changed' };
    return { kind: 'change', change: unseen(record, move, to) };
  }
  if (isThereFor(record, move, to)) return { kind: 'change', change: there(record, move) };
  const change = to === undefined ? note(record, move) : step(record, move, { to, holders: context.holders });
  return { kind: 'change', change: withAct(change, move) };
}

/** It is not over because one of its payments is there, where it is held for a breach. */
function isThereFor({ state, values }: StoredPayout, { isFact }: PayoutMove, to: PayoutState | undefined): boolean {
  const isForPeople = isFact === true && to === 'accepted' && state === 'held' && values.get('rc') === 'E_BREACH';
  return to === state || isForPeople;
}

function withAct(change: Change, { act }: PayoutMove): Change {
  return act === undefined ? change : { ...change, operations: [...change.operations, ['act', act]] };
}

function whyRefused(record: StoredPayout, move: PayoutMove, to: PayoutState | undefined): MoveResult | undefined {
  if (move.version !== undefined && move.version !== record.version) return 'changed';
  if (move.from !== undefined && record.state !== move.from && record.state !== to) return 'changed';
  if (move.quoteId !== undefined && record.values.get('q') !== move.quoteId) return 'other-quote';
  if (to !== undefined && to !== record.state && !isAllowed(record, move, to)) return 'forbidden';
  return undefined;
}

/** The table, and what it cannot say: a quote that an earlier request spent is not dropped as not sent. */
function isAllowed(record: StoredPayout, move: PayoutMove, to: PayoutState): boolean {
  if (record.state === 'refused') return false;
  const asked = { from: record.state, to, sent: record.values.has('q') };
  const { breach = false, dropQuote } = move;
  if (!mayMove({ ...asked, breach, ...(dropQuote === undefined ? {} : { dropQuote }) })) return false;
  return dropQuote !== 'not-sent' || numberOf(record, 'ar') <= 1;
}

/** Whether the payouts that have the reference of this one stand as people saw them: they may be paid meanwhile. */
function isAsSeen({ sawHolders }: PayoutMove, holders: ReferenceHolders | undefined): boolean {
  if (sawHolders === undefined || holders === undefined) return true;
  if (holders.others.length !== sawHolders.length) return false;
  return holders.others.every(({ id, record }, index) => {
    // One that is known from an intent log alone is shown without a state.
    const state = record?.values.has('rh') === true ? record.state : '';
    return id === sawHolders[index]?.id && state === sawHolders[index].state;
  });
}

function sees(record: StoredPayout, holders: ReferenceHolders | undefined): Operation[] {
  const hash = record.values.get('rfh');
  if (hash === undefined || holders === undefined) return [];
  const { claimants, others } = holders;
  if (others.length === 0) return [['sees', hash, claimants, '', 0, 0, '']];
  return others.map(({ id, record: other }): Operation => {
    const { line } = placeOfId(id);
    return ['sees', hash, claimants, id, blockOf(line), line, other?.version ?? ''];
  });
}

/** The values that a move gives the record; `kept`: those that it leaves. */
function valuesOf(record: StoredPayout, move: PayoutMove, kept = record.values): Map<string, string> {
  const values = new Map(kept);
  setValues(values, move.values);
  if (move.spentQuoteId !== undefined && !record.values.has('q')) values.set('q', move.spentQuoteId);
  return values;
}

/** Puts what an act gives into the values of a record. */
export function setValues(values: Map<string, string>, given: PayoutValues | undefined): void {
  for (const [place, text] of valueTexts(given)) {
    if (text === null) values.delete(place);
    else values.set(place, text);
  }
}

function claims({ values, foundQuoteId }: PayoutMove): Operation[] {
  const paymentId = values?.paymentId;
  const found: Operation[] = foundQuoteId === undefined ? [] : [['found', foundQuoteId]];
  return paymentId === undefined || paymentId === null ? found : [['payment', paymentId], ...found];
}

/** Whether its run lets it be moved is judged before what people saw. */
function unseen(record: StoredPayout, move: PayoutMove, to: PayoutState): Change {
  const { runId, line } = move;
  const operations: Operation[] = [...checks(record, move, to), ['refuse', 'changed']];
  return { runId, line, before: record, after: record, operations };
}

function there(record: StoredPayout, move: PayoutMove): Change {
  const { runId, line } = move;
  const other = move.values?.paymentId ?? undefined;
  const known = record.values.get('pid') ?? record.values.get('q');
  const beside: Operation[] = other === undefined || other === known ? [] : [['beside', other]];
  return { runId, line, before: record, after: record, operations: [...claims(move), ...beside], isThere: true };
}

function note(record: StoredPayout, move: PayoutMove): Change {
  const { runId, line, dueMs } = move;
  const isReady = record.state === 'ready';
  const values = valuesOf(record, move);
  // What people proposed, they proposed for another reason.
  if (move.values?.reasonCode !== undefined) values.delete('pr');
  const operations: Operation[] = [...confirmed(move, values), ...claims(move), ...leftPayment(record, move)];
  if (move.values?.paymentState !== undefined) operations.push(['changes']);
  if (isReady && dueMs !== 'as-it-is') operations.push(['slice', Math.ceil(dueMs ?? 0)]);
  const due = dueMs === 'as-it-is' ? record.due : dueOf(isReady ? undefined : dueMs);
  return {
    runId,
    line,
    before: record,
    after: { ...record, version: record.version + 1, due, values },
    dueMs: dueMs === 'as-it-is' || isReady ? undefined : dueMs,
    operations,
  };
}

/** What is confirmed to have come to nothing counts for no limit any more. */
function confirmed(move: PayoutMove, values: Map<string, string>): Operation[] {
  if (move.values?.rejectionConfirmed !== true) return [];
  return values.has('ld') ? [['open'], ['uncount', ...takeCounted(values)]] : [['open']];
}

export function dueOf(ms: number | undefined): StoredPayout['due'] {
  return ms === undefined ? 0 : { fromNowMs: ms };
}

function step(
  record: StoredPayout,
  move: PayoutMove,
  { to, holders }: { to: PayoutState; holders: ReferenceHolders | undefined },
): Change {
  const { runId, line, dropQuote } = move;
  const dueMs = move.dueMs === 'as-it-is' ? undefined : move.dueMs;
  const quoteId = record.values.get('q');
  const kept = quoteId === undefined || dropQuote === undefined ? record.values : dropped(record, dropQuote);
  const values = valuesOf(record, move, kept);
  // Any move voids what people proposed.
  values.delete('pr');
  if (isLetGo(record, to)) values.delete('gu');
  if (SETTLED.has(to)) values.set('st', COMMIT_TIME);
  const operations = [...checks(record, move, to), ...sees(record, holders), ...claims(move), ['changes'] as const];
  operations.push(...effects(record, move, to), ...knownPayment(record, move, { to, values }));
  if (isUncounted(record, move, to)) operations.push(['uncount', ...takeCounted(values)]);
  return {
    runId,
    line,
    before: record,
    after: {
      ...record,
      version: record.version + 1,
      state: to,
      due: dueOf(to === 'ready' ? undefined : dueMs),
      values,
    },
    step: { to, actor: move.actor, reason: move.reason, exchange: move.exchange },
    dueMs: to === 'ready' ? undefined : dueMs,
    operations,
  };
}

function checks(record: StoredPayout, move: PayoutMove, to: PayoutState): Operation[] {
  const all: Operation[] = [];
  if (record.state === 'held' && to === 'ready') all.push(['run', '|paying|paused|finished|', 'forbidden']);
  if (move.cancelledIfRunIs === true && record.state === 'unknown') {
    if (to === 'ready') all.push(['run', '|none|recording|awaiting-approval|paying|paused|finished|', 'run']);
    if (to === 'cancelled' && move.to === 'ready') all.push(['run', '|cancelled|', 'run']);
  }
  // Nor is a quote dead before the logs say who was told yes.
  const isDead = to === 'ready' && move.dropQuote === 'proven-dead';
  if (to === 'cancelled' || to === 'rejected' || isDead) all.push(['open']);
  return [...all, ...alone(record, move, to)];
}

function alone(record: StoredPayout, { isAlone, referenceHash }: PayoutMove, to: PayoutState): Operation[] {
  if (isAlone !== true || referenceHash === undefined) return [];
  return [['alone', referenceHash, isFoundAfterAll(record, to) ? 1 : 0]];
}

function isFoundAfterAll({ state }: StoredPayout, to: PayoutState): boolean {
  return isOneOf(FREE_STATES, state) && !isOneOf(FREE_STATES, to);
}

function effects(record: StoredPayout, move: PayoutMove, to: PayoutState): Operation[] {
  const all: Operation[] = [...quoteEffects(record, move), ...(isLetGo(record, to) ? letGo(record, move) : [])];
  if (isFoundAfterAll(record, to) && move.referenceHash !== undefined) all.push(['refback', move.referenceHash]);
  const beneficiary = record.values.get('ben');
  if (to === 'accepted' && beneficiary !== undefined) all.push(['paid', beneficiaryHash(beneficiary)]);
  if (to === 'ready') all.push(['slice', Math.ceil(typeof move.dueMs === 'number' ? move.dueMs : 0)]);
  const digit = outcomeDigit(record.state, to);
  if (move.outcomesRemembered !== undefined && digit !== undefined)
    all.push(['outcome', digit, move.outcomesRemembered]);
  return all;
}

/**
 * A payment that the service has from now on is one that it must show (architecture.md, rule 8), until it shows another one instead, or
 * people settle that it forgot it.
 */
function knownPayment(
  record: StoredPayout,
  move: PayoutMove,
  { to, values }: { to: PayoutState; values: ReadonlyMap<string, string> },
): Operation[] {
  const [credentials, paymentId] = [values.get('cf'), values.get('pid') ?? values.get('q')];
  const isMade = isOneOf(PAYMENT_STATES, to);
  if (credentials === undefined || paymentId === undefined) return [];
  const isSettledAsGone = record.state === 'held' && record.values.get('rc') === 'E_PAYMENT_GONE' && to !== 'accepted';
  if (isSettledAsGone || move.isPaymentGone === true) return [['gone', credentials, paymentId]];
  return isMade && !isOneOf(PAYMENT_STATES, record.state) ? [['known', credentials, paymentId]] : [];
}

function isOneOf(states: readonly PayoutState[], state: RowState): boolean {
  return states.some((one) => one === state);
}

function quoteEffects(record: StoredPayout, move: PayoutMove): Operation[] {
  const { dropQuote, leavesQuote } = move;
  const quoteId = record.values.get('q');
  const left = leftPayment(record, move);
  if (quoteId === undefined) return left;
  if (leavesQuote === true) return [...left, ['beside', quoteId]];
  return dropQuote === undefined ? left : [...left, [dropQuote === 'proven-dead' ? 'dead' : 'unsent', quoteId]];
}

/** A payment in whose place another one counts from now on: it may be paid too. */
function leftPayment(record: StoredPayout, { values }: PayoutMove): Operation[] {
  const former = record.values.get('pid');
  if (former === undefined || values?.paymentId === undefined || values.paymentId === former) return [];
  return [['beside', former]];
}

function isLetGo(record: StoredPayout, to: PayoutState): boolean {
  return record.state === 'held' && to === 'ready';
}

/** A duplicate that a person allowed is the one that its reference stands for from now on. */
function letGo(record: StoredPayout, move: PayoutMove): Operation[] {
  const hash = record.values.get('rfh');
  const reopened: Operation = ['reopen', move.actor, move.reason];
  return hash === undefined ? [reopened] : [['reftake', hash], reopened];
}

/** '1' for a payment that is unknown or was refused, '0' for one that was made; undefined for what tells of neither. */
function outcomeDigit(from: RowState, to: PayoutState): string | undefined {
  if (from === 'armed' && to === 'accepted') return '0';
  if (from === 'armed' && (to === 'unknown' || to === 'rejected')) return '1';
  return from === 'ready' && to === 'rejected' ? '1' : undefined;
}

/** The record's values without its quote; a quote that was not sent was none. */
function dropped(record: StoredPayout, reason: string): Map<string, string> {
  const values = new Map(record.values);
  for (const name of QUOTE_VALUES) values.delete(name);
  if (reason === 'not-sent') {
    for (const name of ['qn', 'at']) values.set(name, String(Math.max(0, numberOf(record, name) - 1)));
  }
  return values;
}

/**
 * A payout that came to nothing, or that waits for people before it was sent, counts for no limit. A rejection after a payment request
 * may be none: it counts until that is confirmed.
 */
function isUncounted(record: StoredPayout, { values }: PayoutMove, to: PayoutState): boolean {
  if (!record.values.has('ld')) return false;
  if (to === 'rejected') return !record.values.has('q') || values?.rejectionConfirmed === true;
  return to === 'cancelled' || (to === 'held' && record.state === 'ready');
}

/** Takes what a payout counts as out of its values. */
function takeCounted(values: Map<string, string>): [day: string, beneficiary: string, list: string] {
  const counted = countedOf({ values });
  for (const name of ['ld', 'lb', 'lc']) values.delete(name);
  return counted;
}

export function countedOf({ values }: Pick<StoredPayout, 'values'>): [day: string, beneficiary: string, list: string] {
  return [values.get('ld') ?? '', values.get('lb') ?? '', values.get('lc') ?? ''];
}

/** As the ledger keeps to whom something was paid. */
export function beneficiaryHash(id: string): string {
  return digest('sha1', id, 'hex').slice(0, BENEFICIARY_HASH_CHARACTERS);
}

export function numberOf({ values }: StoredPayout, name: string): number {
  return Number.parseInt(values.get(name) ?? '0', 10);
}
