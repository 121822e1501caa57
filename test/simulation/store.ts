import type { AuditRecord } from '../../src/audit/entry.ts';
import type { RowState, StoredPayout } from '../../src/ledger/payouts/stored.ts';
import type { FormerQuote } from '../../src/ledger/runs/runs.ts';
import { PAYOUT_STATES, type PayoutPlace, type RunState } from '../../src/payout.ts';

/*
 * What a Redis holds of a ledger, as plain data that can be copied: the ledger in memory works on it, and a Redis that
 * goes back in time is an earlier copy. Written from architecture.md and the headers of the scripts, not from their text.
 */

export type { RowState } from '../../src/ledger/payouts/stored.ts';

export const ROW_STATES: readonly RowState[] = [...PAYOUT_STATES, 'refused'];
export const NO_COUNTS = Object.fromEntries(ROW_STATES.map((state) => [state, 0])) as Readonly<
  Record<RowState, number>
>;

export const OPEN: readonly RowState[] = ['ready', 'armed', 'quoted', 'unknown'];
export const PAID: readonly RowState[] = ['accepted', 'completed', 'failed', 'returned'];
/** Stands in the place of the payout of a quote that was armed and never sent. */
export const UNSENT = '-';

/** The record of a payout, as the ledger keeps it, and where it stands. A record is never changed, but replaced. */
export class Entry {
  readonly runId: string;
  readonly line: number;
  record: StoredPayout;

  constructor({ runId, line }: PayoutPlace, record: StoredPayout) {
    this.runId = runId;
    this.line = line;
    this.record = record;
  }

  get state(): RowState {
    return this.record.state;
  }

  get version(): number {
    return this.record.version;
  }

  get quote(): string | null {
    return this.get('q') ?? null;
  }

  /** False for a record that was restored from an intent log. */
  get hasRow(): boolean {
    return this.record.values.has('rh');
  }

  /** How many steps its history has. */
  get steps(): number {
    return this.record.history.length;
  }

  /** A value by the name of its place (src/ledger/payouts/place-names.ts). */
  get(place: string): string | undefined {
    return this.record.values.get(place);
  }

  number(place: string): number {
    return Number.parseInt(this.get(place) ?? '0', 10);
  }

  /** Gives the record other values; null takes one away. */
  set(given: Readonly<Record<string, string | null>>): void {
    const values = new Map(this.record.values);
    for (const [place, text] of Object.entries(given)) {
      if (text === null) values.delete(place);
      else values.set(place, text);
    }
    this.record = { ...this.record, values };
  }

  raiseVersion(): void {
    this.record = { ...this.record, version: this.version + 1 };
  }
}

export interface RunEntry {
  readonly id: string;
  state: RunState;
  pauseReason: string | null;
  pauses: number;
  createdAt: number;
  finishedAt: number | null;
  changes: number;
  fields: Record<string, string>;
  counts: Record<RowState, number>;
  /** `currency outcome` -> minor units. */
  amounts: Map<string, bigint>;
  slices: Map<string, number>;
  /** Those that were proven dead and others, each in the order in which they came. */
  former: FormerQuote[];
  events: { event: string; actor: string; reason: string }[];
}

export interface Store {
  /** The server's own word on which server it is. */
  server: string;
  season: string;
  /** The arming counter for which it was closed last. */
  closedFor: number;
  halt: string | null;
  releaseBy: string | null;
  armings: number;
  refusedMoves: number;
  restored: number;
  disproved: string[];
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
  /** Those that had a reference before people allowed another one. */
  readonly formerly: Map<string, readonly string[]>;
  /** As which run one is known that was forgotten. */
  readonly knownAs: Map<string, string>;
  /** What people stopped before this Redis knew it again. */
  readonly stopsAhead: Map<string, string>;
  /** Quotes to which the service said yes, and whose lines were not compared yet, and their payments. */
  readonly yes: Map<string, string>;
  readonly blocked: Set<string>;
  /** Who proposed to write off a directory, who agreed ('' for nobody yet), and for which server. */
  readonly writeOffs: Map<string, { server: string; by: string; agreed: string }>;
  readonly writtenOff: Map<string, 'lost' | 'retired'>;
  /** Directories with logs without which others armed. */
  readonly late: Set<string>;
  audit: readonly AuditRecord[];
  /** What people did, and no entry tells of yet. */
  auditWaiting: readonly string[];
  /** Entries of the audit log, by their hashes: lost and put back, and those of which it was said that they are missing. */
  readonly putBack: Set<string>;
  readonly missed: Set<string>;
  /** Hashes of the beneficiaries to whom a payment was ever accepted. */
  readonly paid: Set<string>;
  readonly quotes: Map<string, string>;
  /** Latest payments by the credentials under which they were made. */
  readonly knownPayments: Map<string, readonly string[]>;
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
    closedFor: 0,
    halt: null,
    releaseBy: null,
    armings: 0,
    refusedMoves: 0,
    restored: 0,
    disproved: [],
    waitUntil: 0,
    clockSeen: 0,
    dirs: new Map(),
    peers: new Map(),
    files: new Map(),
    contents: new Map(),
    references: new Map(),
    formerly: new Map(),
    knownAs: new Map(),
    stopsAhead: new Map(),
    yes: new Map(),
    blocked: new Set(),
    writeOffs: new Map(),
    writtenOff: new Map(),
    late: new Set(),
    audit: [],
    auditWaiting: [],
    putBack: new Set(),
    missed: new Set(),
    paid: new Set(),
    quotes: new Map(),
    knownPayments: new Map(),
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
    formerly: new Map(store.formerly),
    knownAs: new Map(store.knownAs),
    stopsAhead: new Map(store.stopsAhead),
    yes: new Map(store.yes),
    blocked: new Set(store.blocked),
    writeOffs: new Map(store.writeOffs),
    writtenOff: new Map(store.writtenOff),
    late: new Set(store.late),
    putBack: new Set(store.putBack),
    missed: new Set(store.missed),
    paid: new Set(store.paid),
    quotes: new Map(store.quotes),
    knownPayments: new Map(store.knownPayments),
    runs: new Map([...store.runs].map(([id, run]) => [id, copyRun(run)])),
    live: new Set(store.live),
    entries: new Map([...store.entries].map(([id, entry]) => [id, new Entry(entry, entry.record)])),
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
    former: [...run.former],
    events: [...run.events],
  };
}

export function entryId(runId: string, line: number): string {
  return `${runId}-${line}`;
}

/** A record of which nothing but its place is known. */
export function blankEntry(runId: string, line: number, state: RowState): Entry {
  return new Entry({ runId, line }, { text: '', version: 0, state, due: 0, history: [], values: new Map() });
}

export function blankRun(id: string, now: number): RunEntry {
  return {
    id,
    state: 'recording',
    pauseReason: null,
    pauses: 0,
    createdAt: now,
    finishedAt: null,
    changes: 1,
    fields: {},
    counts: { ...NO_COUNTS },
    amounts: new Map(),
    slices: new Map(),
    former: [],
    events: [],
  };
}

/** As the ledger gives them: those that were proven dead first. */
export function formerQuotesOf(run: RunEntry | undefined): FormerQuote[] {
  return (run?.former ?? []).toSorted((one, other) => Number(other.isProvenDead) - Number(one.isProvenDead));
}
