import { KNOWN_PAYMENTS_MAX } from '../../src/ledger/keys.ts';
import type { ArmAnswer, Arming, Deferred, MoveAnswer, PayoutMove } from '../../src/ledger/payouts/acts.ts';
import { armRefusal } from '../../src/ledger/payouts/arm-payouts.ts';
import { decideArming } from '../../src/ledger/payouts/decide-arming.ts';
import {
  type Change,
  decideMove,
  type Operation,
  type ReferenceHolders,
} from '../../src/ledger/payouts/decide-move.ts';
import { amountOf } from '../../src/ledger/payouts/record.ts';
import {
  COMMIT_COUNTER,
  COMMIT_TIME,
  type NewStep,
  STATE_LETTERS,
  type StoredPayout,
  type StoredStep,
} from '../../src/ledger/payouts/stored.ts';
import { QUOTES_FOUND } from '../../src/ledger/runs/runs.ts';
import { outcomeOf, type PayoutPlace, payoutId } from '../../src/payout.ts';
import { noteClock } from './redis-clock.ts';
import { claimantsOf, formerOf, holdersBeside } from './references.ts';
import { Entry, type RowState, type RunEntry, type Store, UNSENT } from './store.ts';

/*
 * What the commit (src/ledger/scripts/commit.ts) does, in memory. What it is given was decided by the ledger's own functions.
 */

export interface ArmingAt {
  readonly dataDirId: string;
  /** The highest arming counter that the process ever saw. */
  readonly sawCounter: number;
  readonly now: number;
}

export function armPayout(store: Store, arming: Arming, { dataDirId, sawCounter, now }: ArmingAt): ArmAnswer {
  noteCounter(store, sawCounter, now);
  const stop = stopOf(store, arming.runId, { dataDirId, now });
  if (stop !== undefined) return { armed: false, refusal: stop };
  const record = store.entries.get(payoutId(arming))?.record;
  const done = commit(store, decideArming(record, arming, now), now);
  if (done.words !== undefined) return armRefusal(done.words);
  return { armed: true, version: done.record.version, counter: done.number, armedAt: now };
}

function stopOf(
  { season, server, dirs, halt, waitUntil, runs }: Store,
  runId: string,
  { dataDirId, now }: { dataDirId: string; now: number },
): 'season' | 'halted' | 'wait' | 'run' | undefined {
  if (season !== server || dirs.get(dataDirId) !== server) return 'season';
  if (halt !== null) return 'halted';
  if (waitUntil > now) return 'wait';
  return runs.get(runId)?.state === 'paying' ? undefined : 'run';
}

/** A Redis that has forgotten armings that a process knows of: every directory compares anew. */
export function noteCounter(store: Store, seen: number, now: number): void {
  if (store.armings >= seen) return;
  if (store.season !== store.server && store.closedFor >= seen) return;
  store.closedFor = seen;
  store.season = `closed ${now}`;
  for (const dir of store.dirs.keys()) store.dirs.set(dir, '-');
}

export function movePayout(store: Store, move: PayoutMove, now: number): MoveAnswer {
  const record = store.entries.get(payoutId(move))?.record;
  const runIsCancelled = move.cancelledIfRunIs === true && store.runs.get(move.runId)?.state === 'cancelled';
  const decision = decideMove(record, move, { runIsCancelled, holders: holdersFor(store, move, record) });
  const answer = (result: MoveAnswer['result'], stored = record, badOutcomes = 0): MoveAnswer => {
    if (result === 'forbidden') store.refusedMoves++;
    return { result, version: stored?.version ?? 0, state: stored?.state ?? '', badOutcomes };
  };
  if (decision.kind === 'refused') return answer(decision.result);
  const done = commit(store, decision.change, now);
  if (done.words !== undefined) return answer(done.words[0] as MoveAnswer['result']);
  return decision.change.isThere === true ? answer('there') : answer('moved', done.record, done.number);
}

function holdersFor(store: Store, move: PayoutMove, record: StoredPayout | undefined): ReferenceHolders | undefined {
  const hash = record?.values.get('rfh');
  if (move.sawHolders === undefined || hash === undefined) return undefined;
  const ids = holdersBeside(store, hash, payoutId(move));
  return { claimants: '', others: ids.map((id) => ({ id, record: store.entries.get(id)?.record })) };
}

/** The steps of `deferPayout` in src/ledger/payouts/payouts.ts. */
export function deferPayout(
  store: Store,
  place: PayoutPlace,
  { ms, quoteFailed, now }: { ms: number; quoteFailed: boolean; now: number },
): Deferred | undefined {
  const entry = store.entries.get(payoutId(place));
  if (entry?.state !== 'ready') return undefined;
  const failures = entry.number('qf') + (quoteFailed ? 1 : 0);
  const { runId, line } = place;
  const note = { runId, line, dueMs: ms, actor: '', reason: '', values: { quoteFailures: failures } };
  return { failures, version: movePayout(store, note, now).version };
}

/** The payout to which a quote or a payment belongs. */
export function holderOfQuote(store: Store, id: string): string | undefined {
  const holder = store.quotes.get(id);
  return holder === UNSENT ? undefined : holder;
}

type Done =
  | { readonly words: readonly unknown[]; readonly record?: undefined }
  | { readonly words?: undefined; readonly record: StoredPayout; readonly number: number };

/** Makes a change as a whole, or not at all. */
export function commit(store: Store, change: Change, now: number): Done {
  noteClock(store, now);
  const { before, after, step } = change;
  const id = payoutId(change);
  const run = store.runs.get(change.runId);
  const at = { store, run, id, line: change.line, now };
  let number = 0;
  for (const operation of change.operations) {
    const said = operate(at, operation);
    if (typeof said === 'number') number = said;
    else if (said !== undefined) return { words: said };
  }
  const record = committed(after, step, { now, number });
  const entry = store.entries.get(id) ?? new Entry(change, record);
  if (run !== undefined && before?.state !== record.state) {
    if (before !== undefined) addTo(run, before, -1);
    addTo(run, record, 1);
    if (before === undefined) run.fields['recordedAt'] = String(now);
  }
  entry.record = record;
  store.entries.set(id, entry);
  setDue(store, entry);
  if (before !== undefined && before.state !== record.state) store.watch?.(entry, before.state, step?.actor ?? '');
  return { record, number };
}

/** What an operation acts on. */
interface At {
  readonly store: Store;
  readonly run: RunEntry | undefined;
  readonly id: string;
  readonly line: number;
  readonly now: number;
}

/** What speaks against the change, or the number that it gets. */
type Said = readonly unknown[] | number | undefined;

/** The operations of scripts/commit.ts. */
const OPS: Readonly<Record<string, (at: At, first: string, second: string) => Said>> = {
  open: ({ store }) => unless(store.season === store.server, 'season'),
  refuse: (_at, word) => [word],
  run: ({ run }, states, word) => unless(states.includes(`|${run?.state ?? 'none'}|`), word),
  mine({ store, id }, hash) {
    const other = claimantsOf(store, hash).find((holder) => holder !== id);
    return unless(other === undefined, 'reference', other);
  },
  alone({ store, id }, hash, isBack) {
    const found = claimantsOf(store, hash);
    const isShared = found.some((holder) => holder !== id) && (isBack === '1' || found.includes(id));
    return unless(!isShared, 'shared');
  },
  unblocked: ({ store }, beneficiary) => unless(!store.blocked.has(beneficiary), 'blocked'),
  payment({ store, id }, paymentId) {
    const owner = store.quotes.get(paymentId) ?? UNSENT;
    if (owner !== UNSENT) return unless(owner === id, 'payment-taken');
    store.quotes.set(paymentId, id);
    return undefined;
  },
  quote({ store, id }, quoteId) {
    if ((store.quotes.get(quoteId) ?? UNSENT) !== UNSENT) return ['quote-taken'];
    store.quotes.set(quoteId, id);
    return undefined;
  },
  known({ store }, credentials, paymentId) {
    store.knownPayments.set(
      credentials,
      [paymentId, ...(store.knownPayments.get(credentials) ?? [])].slice(0, KNOWN_PAYMENTS_MAX),
    );
    return undefined;
  },
  gone({ store }, credentials, paymentId) {
    const left = (store.knownPayments.get(credentials) ?? []).filter((id) => id !== paymentId);
    store.knownPayments.set(credentials, left);
    return undefined;
  },
  unsent({ store }, quoteId) {
    store.quotes.set(quoteId, UNSENT);
    return undefined;
  },
  dead({ run, line }, quoteId) {
    run?.former.push({ line, quoteId, isProvenDead: true });
    delete run?.fields['deadQuotesFound'];
    return undefined;
  },
  beside({ run, line }, quoteId) {
    const isNoted = run?.former.some((one) => one.line === line && one.quoteId === quoteId && !one.isProvenDead);
    if (isNoted === false) run?.former.push({ line, quoteId, isProvenDead: false });
    delete run?.fields['deadQuotesFound'];
    return undefined;
  },
  found({ run }, quoteId) {
    if (run !== undefined) noteFound(run, quoteId);
    return undefined;
  },
  counter: ({ store }) => ++store.armings,
  ref({ store, id }, hash) {
    store.references.set(hash, [id]);
    return undefined;
  },
  reftake({ store, id }, hash) {
    const former = new Set([...claimantsOf(store, hash), ...formerOf(store, hash)]);
    former.delete(id);
    store.references.set(hash, [id]);
    if (former.size > 0) store.formerly.set(hash, [...former]);
    return undefined;
  },
  refback({ store, id }, hash) {
    const found = claimantsOf(store, hash);
    if (!found.includes(id)) store.references.set(hash, [id, ...found]);
    return undefined;
  },
  refnx({ store, id }, hash) {
    if (!store.references.has(hash)) store.references.set(hash, [id]);
    return undefined;
  },
  paid({ store }, hash) {
    store.paid.add(hash);
    return undefined;
  },
  newben({ run }) {
    if (run !== undefined) run.fields['newBeneficiaryRows'] = String(Number(run.fields['newBeneficiaryRows'] ?? 0) + 1);
    return undefined;
  },
  sum({ run }, field, minor) {
    if (run !== undefined) addAmount(run, field, BigInt(minor));
    return undefined;
  },
  changes({ run }) {
    if (run !== undefined) run.changes++;
    return undefined;
  },
  slice({ run, line, now }, ms) {
    run?.slices.set(`${line}-${line}`, now + Number.parseInt(ms, 10));
    return undefined;
  },
  outcome: ({ run }, digit, most) => run && noteOutcome(run, digit, Number.parseInt(most, 10)),
  reopen({ store, run, line }, actor, reason) {
    if (run?.state === 'finished') reopen(store, run, { line, actor, reason });
    return undefined;
  },
  act({ store }, act) {
    store.auditWaiting = [...store.auditWaiting, act];
    return undefined;
  },
  // These say that nothing was changed between reading and writing, and here nothing is.
  sees: () => undefined,
  refis: () => undefined,
  likelyis: () => undefined,
  blocklist: () => undefined,
};

/** A quote whose payment should not be, of which people were told by a breach. */
export function noteFound({ fields }: RunEntry, quoteId: string): void {
  const found = fields[QUOTES_FOUND]?.split(' ') ?? [];
  if (!found.includes(quoteId)) fields[QUOTES_FOUND] = [...found, quoteId].join(' ');
}

function operate(at: At, [name, first = '', second = '']: Operation): Said {
  const op = OPS[name];
  if (op === undefined) throw new Error(`the operation ${name} is not simulated`);
  return op(at, String(first), String(second));
}

function unless(holds: boolean, ...words: readonly unknown[]): readonly unknown[] | undefined {
  return holds ? undefined : words;
}

/** `field`: `m:` currency `:` outcome. */
function addAmount(run: RunEntry, field: string, minor: bigint): void {
  const key = field.slice(2).replace(':', ' ');
  run.amounts.set(key, (run.amounts.get(key) ?? 0n) + minor);
}

function noteOutcome(run: RunEntry, digit: string, most: number): number {
  const kept = `${run.fields['lastOutcomes'] ?? ''}${digit}`.slice(-most);
  run.fields['lastOutcomes'] = kept;
  return kept.replaceAll('0', '').length;
}

function reopen(
  { halt, live }: Store,
  run: RunEntry,
  { line, actor, reason }: { line: number; actor: string; reason: string },
): void {
  run.state = halt === null ? 'paying' : 'paused';
  if (halt !== null) {
    run.pauseReason = 'everything was halted when a payout was allowed';
    run.pauses++;
  }
  run.finishedAt = null;
  delete run.fields['deadQuotesFound'];
  live.add(run.id);
  run.events.push({ event: run.state, actor, reason: `row ${line} was allowed: ${reason}` });
}

/** The places that are given the commit's time or counter. */
const MADE_BY_COMMIT = ['st', 'aa', 'ct'];

/** The record as it stands once the commit happened. */
function committed(
  record: StoredPayout,
  step: NewStep | undefined,
  { now, number }: { now: number; number: number },
): StoredPayout {
  const values = new Map(record.values);
  if (values.get('x') === '') values.delete('x');
  for (const place of MADE_BY_COMMIT) {
    const text = values.get(place);
    if (text === COMMIT_TIME) values.set(place, String(now));
    else if (text === COMMIT_COUNTER) values.set(place, String(number));
  }
  const due = typeof record.due === 'number' ? record.due : now + Math.ceil(record.due.fromNowMs);
  const history = step === undefined ? record.history : [...record.history, storedStep(record.history, step, now)];
  return { ...record, due, values, history };
}

function storedStep(history: readonly StoredStep[], step: NewStep, now: number): StoredStep {
  const before = history.reduce((sum, [, ms]) => sum + ms, 0);
  return [STATE_LETTERS[step.to], now - before, step.actor, step.reason, step.exchange ?? ''];
}

export function addTo(run: RunEntry, { state, values }: Pick<StoredPayout, 'state' | 'values'>, sign: 1 | -1): void {
  run.counts[state] += sign;
  const amount = amountOf(values);
  if (amount === undefined) return;
  addAmount(run, `m:${amount.currency}:${outcomeOf(state)}`, BigInt(sign) * BigInt(amount.minor));
}

/** When the payout wants something, as its record says. */
export function setDue(store: Store, { runId, line, record }: Entry): void {
  const id = payoutId({ runId, line });
  store.due.delete(id);
  store.tracked.delete(id);
  if (typeof record.due !== 'number' || record.due === 0) return;
  (record.state === 'accepted' ? store.tracked : store.due).set(id, record.due);
}

/** What the season does to a payout, without asking the table of moves. */
export function enter(
  store: Store,
  entry: Entry,
  { to, now, reason, dueAt }: { to: RowState; now: number; reason: string; dueAt?: number | undefined },
): void {
  const { record } = entry;
  const run = store.runs.get(entry.runId);
  if (run !== undefined) {
    addTo(run, record, -1);
    addTo(run, { ...record, state: to }, 1);
    run.changes++;
  }
  const step = storedStep(record.history, { to, actor: 'season', reason }, now);
  const due = dueAt ?? record.due;
  entry.record = { ...record, version: record.version + 1, state: to, due, history: [...record.history, step] };
  entry.set({ pr: null });
  setDue(store, entry);
  store.watch?.(entry, record.state, 'season');
}
