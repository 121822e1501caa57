import { STATE_LETTERS } from '../../src/ledger/payouts/stored.ts';
import { QUOTES_FOUND } from '../../src/ledger/runs/runs.ts';
import { CLAIMANTS_MAX } from '../../src/ledger/scripts/compare.ts';
import type { ReleaseResult, Season } from '../../src/ledger/season/ledger-state.ts';
import type { PayoutPlace } from '../../src/payout.ts';
import { enter, noteCounter, noteFound, setDue } from './commit.ts';
import { claimantsOf, isFree } from './references.ts';
import { runOfContent } from './runs.ts';
import { blankEntry, blankRun, type Entry, entryId, PAID, type RunEntry, type Store } from './store.ts';

/* What the scripts do to the ledger's head: the season, the halt, and what all processes share. In memory. */

export function readSeason(store: Store, now: number, sawCounter = 0): Season {
  noteCounter(store, sawCounter, now);
  const missing: string[] = [];
  for (const [dir, server] of store.dirs) if (server !== store.server) missing.push(dir);
  return {
    open: store.season === store.server,
    server: store.server,
    missing,
    dataDirIds: [...store.dirs.keys()],
    strangers: [],
    name: store.season,
  };
}

export function enterDir(store: Store, dataDirId: string, hasLogs: boolean): boolean {
  if (store.writtenOff.has(dataDirId)) return false;
  if (store.dirs.has(dataDirId)) return true;
  store.dirs.set(dataDirId, hasLogs && store.season === store.server ? '-' : '');
  if (hasLogs) store.late.add(dataDirId);
  return true;
}

/** An intent line as the comparison is given it. */
export interface ComparedLine {
  readonly r: string;
  readonly l: number;
  readonly s: string;
  readonly n: string;
  readonly h: string;
  readonly q: string;
  readonly x: string;
  readonly k: number;
  readonly c: number;
  readonly o: string;
  readonly t: string;
  readonly f: string;
}

/** A quote to which the service began to say yes, and its payment where it was named. */
export interface ComparedAnswer {
  readonly y: string;
  readonly p: string;
  readonly h?: string | undefined;
  readonly o?: number | undefined;
}

export interface Comparison {
  readonly dataDirId: string;
  readonly server: string;
  /** Its name before the logs were read; '' where none are. */
  readonly season: string;
  readonly last: boolean;
  readonly lines: readonly ComparedLine[];
  readonly answers: readonly ComparedAnswer[];
  /** Directories that this one has noted on its disk. */
  readonly peers: readonly string[];
  /** The highest arming counter that the process ever saw. */
  readonly sawCounter: number;
}

export interface Compared {
  readonly result: string;
  readonly restored: number;
  /** Directories that have yet to note this one, or that it has yet to note. */
  readonly strangers: readonly string[];
}

export function notePeers(store: Store, dataDirId: string, peers: readonly string[]): void {
  for (const peer of peers) {
    const isForgotten = peer !== dataDirId && store.season === store.server;
    if (store.dirs.has(peer) || store.writtenOff.has(peer)) continue;
    store.dirs.set(peer, isForgotten ? '-' : '');
    if (peer !== dataDirId) store.late.add(peer);
  }
  store.peers.set(dataDirId, peers);
}

const NOBODY = { by: '', agreed: '' } as const;

/** Who proposed to write off a directory, and who agreed, for this very server. */
export function proposalOf({ writeOffs, server }: Store, dir: string): { by: string; agreed: string } {
  const proposal = writeOffs.get(dir);
  return proposal?.server === server ? proposal : NOBODY;
}

/** Nobody may arm before each other one that ever might has noted it, and it them; one that was given up never will. */
function strangersOf(store: Store, own: string): string[] {
  const hasNoted = (one: string, other: string): boolean => store.peers.get(one)?.includes(other) === true;
  return [...store.dirs]
    .filter(([other, compared]) => other !== own && compared !== '' && !(hasNoted(other, own) && hasNoted(own, other)))
    .filter(([other, compared]) => compared === store.server || proposalOf(store, other).agreed === '')
    .map(([other]) => other);
}

/** Each directory has compared for whatever it was closed for: nobody closes it for that again. */
export function openSeason(store: Store): void {
  store.season = store.server;
  store.armings = Math.max(store.armings, store.closedFor);
}

/** Compares a directory's lines, and opens the season with the last directory (architecture.md, rule 4). */
export function compareLines(store: Store, part: Comparison, now: number): Compared {
  if (part.server !== store.server) return { result: 'changed', restored: 0, strangers: [] };
  if (store.writtenOff.has(part.dataDirId)) return { result: 'written-off', restored: 0, strangers: [] };
  noteCounter(store, part.sawCounter, now);
  if (store.season !== store.server && part.season !== '' && store.season !== part.season)
    return { result: 'changed', restored: 0, strangers: [] };
  const isForgotten = store.season === store.server && store.dirs.get(part.dataDirId) !== store.server;
  const wasMissing = isForgotten || store.late.has(part.dataDirId);
  for (const line of part.lines) restoreLine(store, line, { now, wasMissing, dataDirId: part.dataDirId });
  for (const answer of part.answers) restoreAnswer(store, answer, now);
  store.armings = Math.max(store.armings, part.sawCounter, ...part.lines.map(({ c }) => c));
  if (!part.last) return { result: 'compared', restored: 0, strangers: [] };
  const { restored } = store;
  if (restored > 0) haltRestored(store);
  if (part.dataDirId !== '') {
    notePeers(store, part.dataDirId, part.peers);
    const strangers = strangersOf(store, part.dataDirId);
    if (strangers.length > 0) return { result: 'unnoted', restored, strangers };
    store.dirs.set(part.dataDirId, store.server);
    store.writeOffs.delete(part.dataDirId);
    store.late.delete(part.dataDirId);
  }
  const isMissing = [...store.dirs.values()].some((server) => server !== store.server);
  if (!isMissing) {
    openSeason(store);
    forgetAnswers(store);
  }
  return { result: isMissing ? 'compared' : 'open', restored, strangers: [] };
}

/** A lost host may still come back with the line of a quote that nobody knows yet. */
function forgetAnswers({ yes, quotes, writtenOff }: Store): void {
  const hasLostHost = [...writtenOff.values()].includes('lost');
  for (const quote of yes.keys()) {
    if (!hasLostHost || quotes.has(quote) || quote.startsWith('late ')) yes.delete(quote);
  }
}

function restoreLine(
  store: Store,
  line: ComparedLine,
  { now, wasMissing, dataDirId }: { now: number; wasMissing: boolean; dataDirId: string },
): void {
  const runId = runOfLine(store, line, now);
  const id = entryId(runId, line.l);
  const there = store.entries.get(id);
  const lateQuote = there?.quote ?? '';
  const lateDir = store.yes.get(`late ${lateQuote}`);
  // Counters of two times, each lost to the other, cannot be compared.
  const isApart = wasMissing || (lateDir !== undefined && lateDir !== dataDirId);
  const isKnown = isApart
    ? store.quotes.get(line.q) === id || (there !== undefined && wasArmedAt(there, Number(line.t)))
    : (there?.number('ct') ?? 0) >= line.c;
  if (there !== undefined && isKnown) {
    noteForgotten(store, there, line.q);
    return;
  }
  const isPaid = there !== undefined && PAID.includes(there.state);
  if (isPaid && there.quote === line.q) {
    there.set({ ct: String(Math.max(there.number('ct'), line.c)) });
    there.raiseVersion();
    return;
  }
  // Lines of one directory follow each other by their counters.
  const isOwn = lateQuote !== line.q && lateDir === dataDirId;
  if (there !== undefined && isOwn && line.c <= there.number('ct')) {
    noteForgotten(store, there, line.q);
    return;
  }
  store.restored++;
  const isWrittenOff = there?.state === 'held' && there.get('rc') === 'E_DIR_LOST';
  if (there !== undefined && there.quote !== null && there.quote !== line.q) {
    const saidYes = store.yes.has(there.quote);
    const hadBreach = there.state === 'held' && there.get('rc') === 'E_BREACH';
    const isBreach =
      (isPaid || hadBreach || saidYes || (isApart && !isOwn)) && !(isWrittenOff && line.c > there.number('ct'));
    if (isBreach) {
      noteQuote(store, there, line.q);
      holdReturned(store, there, { line, now });
      return;
    }
    noteQuote(store, there, there.quote);
  }
  const entry = there ?? addUnknown(store, runId, line.l);
  const isSameQuote = entry.quote === line.q;
  const quotes = isSameQuote ? {} : { qn: String(entry.number('qn') + 1) };
  const { q, o: by, f: cf } = line;
  const isDoubted = entry.quote !== null && (entry.state === 'held' || entry.get('rc') === 'E_BREACH');
  const end = isDoubted ? laterEnd(entry, line) : { x: line.x === '' ? null : line.x, aa: line.t };
  entry.set({ q, ct: String(line.c), by, cf, at: String(line.k), ...end, ...quotes });
  entry.set({ nf: null, lu: null, ql: null, ...(isSameQuote ? {} : { z2: null }) });
  if (!store.quotes.has(line.q)) store.quotes.set(line.q, id);
  if (wasMissing) store.yes.set(`late ${line.q}`, dataDirId);
  const said = store.yes.get(line.q);
  for (const payment of said?.split('|') ?? []) noteYes(store, entry, { quote: line.q, payment });
  claimReference(store, entry, line);
  reopenRun(store, runId);
  if (entry.state === 'cancelled' || entry.state === 'rejected') entry.set({ gu: '1' });
  if (entry.state === 'held' && entry.get('rc') === 'E_DIR_LOST') {
    entry.record = { ...entry.record, version: entry.version + 1, due: now };
    setDue(store, entry);
  } else enter(store, entry, { to: 'unknown', now, reason: 'restored from an intent log', dueAt: now });
}

/** Whether its history has this very arming; another payout may have its quote by now. */
function wasArmedAt({ record }: Entry, armedAt: number): boolean {
  let at = 0;
  return record.history.some(([letter, ms]) => {
    at += ms;
    return letter === STATE_LETTERS.armed && at === armedAt;
  });
}

/** A quote before the payout's present one that this Redis does not know. */
function noteForgotten(store: Store, entry: Entry, quoteId: string): void {
  if (store.quotes.has(quoteId)) return;
  store.quotes.set(quoteId, entryId(entry.runId, entry.line));
  if (entry.quote === quoteId) return;
  noteQuote(store, entry, quoteId);
  entry.raiseVersion();
}

/** A quote that is not the payout's present one: it is looked up at the run's end, also where that is past. */
function noteQuote({ runs, live }: Store, { runId, line }: PayoutPlace, quoteId: string): void {
  const run = runs.get(runId);
  if (run === undefined) return;
  run.former.push({ line, quoteId, isProvenDead: false });
  delete run.fields['deadQuotesFound'];
  live.add(runId);
}

/** Whether an id is that of a quote which the payout left behind. */
function isFormerQuote(store: Store, entry: Entry, id: string): boolean {
  const former = store.runs.get(entry.runId)?.former ?? [];
  return former.some(({ line, quoteId }) => line === entry.line && quoteId === id);
}

/** What the service answered, and this Redis may have forgotten. */
function restoreAnswer(store: Store, said: ComparedAnswer, now: number): void {
  const { y: quote, p: payment, h } = said;
  const owner = store.quotes.get(quote);
  const entry = owner === undefined ? undefined : store.entries.get(owner);
  const isOfOther =
    entry !== undefined &&
    store.quotes.get(payment) === owner &&
    (entry.get('pid') !== payment || isFormerQuote(store, entry, payment));
  if (payment !== '' && payment !== quote && !isOfOther) disprove(store, 'payment-id-is-quote-id');
  if (entry === undefined || entry.quote !== quote) {
    keepAnswer(store, quote, payment);
    if (entry !== undefined) holdLeftBehind(store, entry, { said, now });
    return;
  }
  const run = store.runs.get(entry.runId);
  const isTold = wasFound(run, quote) || (payment === '' && entry.get('z2') !== undefined);
  const isRejected = entry.state === 'rejected' && (!isTold || overturns(said, entry));
  if (!['armed', 'quoted', 'unknown', 'held'].includes(entry.state) && !isRejected) return;
  keepAnswer(store, quote, payment);
  noteYes(store, entry, { quote, payment });
  if (!isRejected) {
    entry.raiseVersion();
    return;
  }
  if (h !== undefined && isFree(entry)) claimReference(store, entry, { h });
  entry.set({ rc: 'E_BREACH', rs: `the service said yes to the quote ${quote}, whose payment was rejected` });
  if (payment !== '' && run !== undefined) noteFound(run, quote);
  enter(store, entry, { to: 'held', now, reason: 'breach', dueAt: now });
  store.restored++;
}

/** Whether a payment was found after the payout had come to nothing, as it still has in this ledger. */
function overturns({ o }: ComparedAnswer, entry: Entry): boolean {
  return o !== undefined && entry.get('st') === String(o);
}

function wasFound(run: RunEntry | undefined, quote: string): boolean {
  return run?.fields[QUOTES_FOUND]?.split(' ').includes(quote) === true;
}

/** The service said yes to a quote that the payout left behind as proven dead. */
function holdLeftBehind(store: Store, entry: Entry, { said, now }: { said: ComparedAnswer; now: number }): void {
  const { y: quote, p: payment, h } = said;
  const run = store.runs.get(entry.runId);
  const isBeside = run?.former.some((one) => one.line === entry.line && one.quoteId === quote && !one.isProvenDead);
  const isTold = wasFound(run, quote) && entry.state !== 'unknown' && !overturns(said, entry);
  if (isTold || (entry.get('pid') ?? entry.quote) === payment) return;
  if (isBeside !== true) noteQuote(store, entry, quote);
  if (entry.quote === null) {
    entry.set({ q: quote });
    noteYes(store, entry, { quote, payment });
  }
  if (h !== undefined && isFree(entry)) claimReference(store, entry, { h });
  const isHeld = entry.state === 'held';
  if (isHeld) {
    entry.raiseVersion();
    entry.set({ pr: null });
  } else enter(store, entry, { to: 'held', now, reason: 'breach', dueAt: now });
  entry.set({ rc: 'E_BREACH', rs: `the service said yes to the quote ${quote}, which the payout left behind` });
  if (run !== undefined) noteFound(run, quote);
  store.restored++;
}

/** A quote to which the service said yes is never proven dead. */
function noteYes(store: Store, entry: Entry, { quote, payment }: { quote: string; payment: string }): void {
  entry.set({ z2: '1' });
  if (payment === '') return;
  const former = entry.get('pid');
  if (former !== undefined && former !== payment) leaveBeside(store, entry, former);
  entry.set({ pid: payment === quote ? null : payment });
  if (payment === quote) return;
  if (!store.quotes.has(payment)) store.quotes.set(payment, entryId(entry.runId, entry.line));
}

function leaveBeside(store: Store, entry: Entry, quoteId: string): void {
  if (!isFormerQuote(store, entry, quoteId)) noteQuote(store, entry, quoteId);
}

/** Each answer for a quote once. */
function keepAnswer({ yes }: Store, quote: string, payment: string): void {
  const kept = yes.get(quote);
  if (kept?.split('|').includes(payment) === true) return;
  yes.set(quote, kept === undefined ? payment : `${kept}|${payment}`);
}

/** Of two payouts with one reference the one that was armed has it; where both were, it stands for both. */
function claimReference(store: Store, entry: Entry, { h }: Pick<ComparedLine, 'h'>): void {
  const id = entryId(entry.runId, entry.line);
  const claimants = [id];
  if (claimantsOf(store, h).length >= CLAIMANTS_MAX) {
    entry.set({ rfh: h });
    return;
  }
  for (const holder of claimantsOf(store, h)) {
    const other = holder === id ? undefined : store.entries.get(holder);
    if (other === undefined || isFree(other)) continue;
    if (other.number('ct') > 0) claimants.push(holder);
    other.set({ rfh: h });
    other.raiseVersion();
  }
  if (claimants.length > 1) entry.set({ rfh: h });
  store.references.set(h, claimants);
}

/** A run that ended on what this Redis had forgotten goes on, once people let it. */
function reopenRun(store: Store, runId: string): void {
  const run = store.runs.get(runId);
  if (run?.state !== 'finished') return;
  run.finishedAt = null;
  delete run.fields['deadQuotesFound'];
  store.live.add(runId);
  pauseForAll(run, WENT_BACK);
}

const WENT_BACK = 'Redis went back in time';

/** Because of something that concerns all runs. */
export function pauseForAll(run: RunEntry, reason: string): void {
  run.state = 'paused';
  run.pauseReason = reason;
  run.pauses++;
  run.changes++;
  run.events.push({ event: 'paused', actor: 'season', reason: run.pauseReason });
}

function runOfLine(store: Store, { r, s, n }: ComparedLine, now: number): string {
  if (store.runs.has(r)) return r;
  const known = store.knownAs.get(r) ?? runOfContent(store, s, n);
  if (known !== undefined) {
    if (!store.knownAs.has(r)) {
      store.knownAs.set(r, known);
      const { fields } = store.runs.get(known) ?? blankRun(known, now);
      if (fields['lastLine'] === undefined) fields['restored'] = '1';
    }
    return known;
  }
  makeStub(store, { id: r, fileSha256: s, contentHash: n }, now);
  return r;
}

/** A run that is known again; its file fills it when it comes again. */
export function makeStub(
  store: Store,
  { id, fileSha256, contentHash }: { id: string; fileSha256: string; contentHash: string },
  now: number,
): void {
  const run = blankRun(id, now);
  run.fields['fileSha256'] = fileSha256;
  run.fields['restored'] = '1';
  store.runs.set(id, run);
  store.files.set(fileSha256, id);
  if ([...store.writtenOff.values()].includes('lost')) run.fields['doubted'] = '1';
  if (contentHash === '') return;
  run.fields['contentHash'] = contentHash;
  store.contents.set(contentHash, id);
}

function addUnknown(store: Store, runId: string, line: number): Entry {
  const entry = blankEntry(runId, line, 'unknown');
  store.entries.set(entryId(runId, line), entry);
  const run = store.runs.get(runId);
  if (run !== undefined) run.counts.unknown++;
  return entry;
}

/** The directory was missing when the season opened, and another quote was armed since. */
function holdReturned(store: Store, entry: Entry, { line, now }: { line: ComparedLine; now: number }): void {
  if (!store.quotes.has(line.q)) store.quotes.set(line.q, entryId(entry.runId, entry.line));
  const rs = `the quote ${line.q} was armed too, by what this Redis does not know`;
  const ct = String(Math.max(entry.number('ct'), line.c));
  entry.set({ ct, ...laterEnd(entry, line), rc: 'E_BREACH', rs, pr: null });
  if (isFree(entry)) claimReference(store, entry, line);
  if (entry.state === 'held') {
    entry.raiseVersion();
    return;
  }
  enter(store, entry, { to: 'held', now, reason: 'breach', dueAt: now });
}

/** Of several quotes the one that ends last, or has no end. */
function laterEnd(entry: Entry, line: ComparedLine): { x: string | null; aa: string } {
  const ends = [entry.number('x'), line.x === '' ? 0 : Number(line.x)];
  const aa = String(Math.max(entry.number('aa'), Number(line.t)));
  return { x: ends.includes(0) ? null : String(Math.max(...ends)), aa };
}

function haltRestored(store: Store): void {
  const there = store.halt === null ? '' : `${store.halt}; `;
  store.halt = `${there}Redis went back in time; ${store.restored} payouts were restored as unknown or held`;
  store.restored = 0;
  store.releaseBy = null;
  for (const id of store.live) {
    const run = store.runs.get(id);
    if (run?.state === 'paying') pauseForAll(run, WENT_BACK);
  }
}

export function haltAll(store: Store, { actor, reason }: { actor: string; reason: string }): void {
  const isSaid = store.halt?.includes(reason) === true;
  // What payrun itself finds again and again voids nobody's release.
  const isFull = (store.halt?.length ?? 0) > 4000;
  const isPerson = actor !== 'payrun' && !actor.startsWith('process ');
  if (isPerson || !(isSaid || isFull)) store.releaseBy = null;
  if (isSaid || isFull) return;
  store.halt = store.halt === null ? reason : `${store.halt}; ${reason}`;
}

export function releaseHalt(store: Store, actor: string): ReleaseResult {
  if (store.halt === null) return 'not-halted';
  if (store.season !== store.server) return 'season';
  if (store.releaseBy === null) {
    store.releaseBy = actor;
    return 'proposed';
  }
  if (store.releaseBy === actor) return 'same-person';
  store.halt = null;
  store.releaseBy = null;
  return 'released';
}

export function disprove(store: Store, capability: string): boolean {
  if (store.disproved.includes(capability)) return false;
  store.disproved.push(capability);
  return true;
}

export function holdAll(store: Store, ms: number, now: number): void {
  store.waitUntil = Math.max(store.waitUntil, now + ms);
}
