import type { AuditAct, AuditRecord } from '../../src/audit/entry.ts';
import type { Money } from '../../src/money.ts';
import { type HistoryEntry, PAYOUT_STATES, type PayoutRow, type PayoutState, type RunState } from '../../src/payout.ts';

/*
 * What a Redis holds of a ledger, as plain data that can be copied: the ledger in memory works on it, and a Redis that
 * goes back in time is an earlier copy. Written from architecture.md and the headers of the scripts, not from their text.
 */

export type RowState = PayoutState | 'refused';

export const ROW_STATES: readonly RowState[] = [...PAYOUT_STATES, 'refused'];
export const NO_COUNTS = Object.fromEntries(ROW_STATES.map((state) => [state, 0])) as Readonly<
  Record<RowState, number>
>;

export const OPEN: readonly RowState[] = ['ready', 'armed', 'quoted', 'unknown'];
export const PAID: readonly RowState[] = ['accepted', 'completed', 'failed', 'returned'];
/** No more comes of these but by people and look-ups. */
export const ENDS: readonly RowState[] = ['completed', 'failed', 'returned', 'rejected', 'cancelled'];

/** Stands in the place of the payout of a quote that was armed and never sent. */
export const UNSENT = '-';

/** A payout's record; what the steps write by field name (src/ledger/payouts/record.ts) is in `more`. */
export interface Entry {
  readonly runId: string;
  readonly line: number;
  state: RowState;
  version: number;
  /** Null for a record that was restored from an intent log and for a refused row. */
  row: PayoutRow | null;
  rowHash: string | null;
  amount: Money | null;
  /** Of a suspected duplicate: the hash that it takes over when a person allows it. */
  duplicateOf: string | null;
  quote: string | null;
  expiresAt: number | null;
  attempts: number;
  armings: number;
  quotes: number;
  counter: number;
  armedBy: string | null;
  armedAt: number | null;
  credentials: string | null;
  quoteFailures: number;
  more: Record<string, string>;
  history: HistoryEntry[];
}

export interface RunEntry {
  readonly id: string;
  state: RunState;
  pauseReason: string | null;
  createdAt: number;
  finishedAt: number | null;
  changes: number;
  fields: Record<string, string>;
  counts: Record<RowState, number>;
  /** `currency outcome` -> minor units. */
  amounts: Map<string, bigint>;
  slices: Map<string, number>;
  dead: { line: number; quoteId: string }[];
  events: { event: string; actor: string; reason: string }[];
}

export interface Store {
  /** The server's own word on which server it is. */
  server: string;
  season: string;
  halt: string | null;
  releaseBy: string | null;
  armings: number;
  refusedMoves: number;
  restored: number;
  disproved: string[];
  /** When a data directory was written off last; 0: never. */
  lostAt: number;
  waitUntil: number;
  /** The server's time at the last look at it. */
  clockSeen: number;
  readonly dirs: Map<string, string>;
  /** Which others each data directory has noted on its disk. */
  readonly peers: Map<string, readonly string[]>;
  readonly files: Map<string, string>;
  readonly contents: Map<string, string>;
  /** Several payouts where nobody can tell which of them used the reference last. */
  readonly references: Map<string, readonly string[]>;
  /** Quotes to which the service said yes, and whose lines were not compared yet, and their payments. */
  readonly yes: Map<string, string>;
  readonly blocked: Set<string>;
  /** Who proposed to write off a directory, who agreed ('' for nobody yet), and for which server. */
  readonly writeOffs: Map<string, { server: string; by: string; agreed: string }>;
  readonly writtenOff: Set<string>;
  audit: readonly AuditRecord[];
  /** What people did, and no entry tells of yet. */
  auditWaiting: readonly AuditAct[];
  /** Entries of the audit log, by their hashes: lost and put back, and those of which it was said that they are missing. */
  readonly putBack: Set<string>;
  readonly missed: Set<string>;
  /** Beneficiaries to whom a payment was ever accepted. */
  readonly paid: Set<string>;
  readonly quotes: Map<string, string>;
  readonly runs: Map<string, RunEntry>;
  readonly live: Set<string>;
  readonly entries: Map<string, Entry>;
  readonly due: Map<string, number>;
  readonly tracked: Map<string, number>;
  /** Told of each move after it was made; the simulation looks at its invariants there. */
  readonly watch: ((entry: Entry, from: RowState, actor: string) => void) | undefined;
}

/** An empty ledger whose season begins with it. */
export function newStore(server: string, watch?: Store['watch']): Store {
  return {
    server,
    season: server,
    halt: null,
    releaseBy: null,
    armings: 0,
    refusedMoves: 0,
    restored: 0,
    disproved: [],
    lostAt: 0,
    waitUntil: 0,
    clockSeen: 0,
    dirs: new Map(),
    peers: new Map(),
    files: new Map(),
    contents: new Map(),
    references: new Map(),
    yes: new Map(),
    blocked: new Set(),
    writeOffs: new Map(),
    writtenOff: new Set(),
    audit: [],
    auditWaiting: [],
    putBack: new Set(),
    missed: new Set(),
    paid: new Set(),
    quotes: new Map(),
    runs: new Map(),
    live: new Set(),
    entries: new Map(),
    due: new Map(),
    tracked: new Map(),
    watch,
  };
}

/** A copy that shares nothing that is ever written. */
export function copyStore(store: Store): Store {
  return {
    ...store,
    disproved: [...store.disproved],
    dirs: new Map(store.dirs),
    peers: new Map(store.peers),
    files: new Map(store.files),
    contents: new Map(store.contents),
    references: new Map(store.references),
    yes: new Map(store.yes),
    blocked: new Set(store.blocked),
    writeOffs: new Map(store.writeOffs),
    writtenOff: new Set(store.writtenOff),
    putBack: new Set(store.putBack),
    missed: new Set(store.missed),
    paid: new Set(store.paid),
    quotes: new Map(store.quotes),
    runs: new Map([...store.runs].map(([id, run]) => [id, copyRun(run)])),
    live: new Set(store.live),
    entries: new Map([...store.entries].map(([id, entry]) => [id, copyEntry(entry)])),
    due: new Map(store.due),
    tracked: new Map(store.tracked),
  };
}

function copyRun(run: RunEntry): RunEntry {
  return {
    ...run,
    fields: { ...run.fields },
    counts: { ...run.counts },
    amounts: new Map(run.amounts),
    slices: new Map(run.slices),
    dead: [...run.dead],
    events: [...run.events],
  };
}

function copyEntry(entry: Entry): Entry {
  return { ...entry, more: { ...entry.more }, history: [...entry.history] };
}

export function entryId(runId: string, line: number): string {
  return `${runId}-${line}`;
}

/** A record of which nothing but its place is known. */
export function blankEntry(runId: string, line: number, state: RowState): Entry {
  return {
    runId,
    line,
    state,
    version: 0,
    row: null,
    rowHash: null,
    amount: null,
    duplicateOf: null,
    quote: null,
    expiresAt: null,
    attempts: 0,
    armings: 0,
    quotes: 0,
    counter: 0,
    armedBy: null,
    armedAt: null,
    credentials: null,
    quoteFailures: 0,
    more: {},
    history: [],
  };
}

export function blankRun(id: string, now: number): RunEntry {
  return {
    id,
    state: 'recording',
    pauseReason: null,
    createdAt: now,
    finishedAt: null,
    changes: 1,
    fields: {},
    counts: { ...NO_COUNTS },
    amounts: new Map(),
    slices: new Map(),
    dead: [],
    events: [],
  };
}
