import { beneficiaryHash } from '../../src/ledger/payouts/decide-move.ts';
import type { ClaimFacts, Earlier } from '../../src/ledger/payouts/duplicates.ts';
import { decideRecording, type RowRecord } from '../../src/ledger/runs/recording.ts';
import { QUOTES_FOUND, type RunClaim, type RunMoveAnswer } from '../../src/ledger/runs/runs.ts';
import { OUTCOMES, type Outcome, placeOfId, type Run, type RunState } from '../../src/payout.ts';
import { commit } from './commit.ts';
import { claimantsOf, formerOf } from './references.ts';
import { blankRun, entryId, OPEN, type RowState, type RunEntry, type Store } from './store.ts';

/* What the scripts do to runs and to what wants work, in memory. */

/** Design 4: "a run". */
const RUN_TABLE: Readonly<Record<RunState, readonly RunState[]>> = {
  recording: ['awaiting-approval', 'paying', 'cancelled'],
  'awaiting-approval': ['paying', 'cancelled'],
  paying: ['paused', 'finished', 'cancelled'],
  paused: ['paying', 'finished', 'cancelled'],
  finished: [],
  cancelled: [],
};
const GIVEN_OUT_MS = 8000;
const NO_AMOUNTS = Object.fromEntries(OUTCOMES.map((name) => [name, 0n])) as Record<Outcome, bigint>;

export interface Claimed {
  readonly id: string;
  readonly result: 'new' | 'known' | 'taken' | 'season';
}

export function claimRun(store: Store, claim: RunClaim, now: number): Claimed {
  const fields = {
    fileName: claim.fileName,
    fileSha256: claim.fileSha256,
    contentHash: claim.contentHash,
    rows: String(claim.rows),
    createdBy: claim.createdBy,
  };
  const known = runOfContent(store, claim.fileSha256, claim.contentHash);
  if (known !== undefined) {
    if (!store.files.has(claim.fileSha256)) store.files.set(claim.fileSha256, known);
    if (!store.contents.has(claim.contentHash)) store.contents.set(claim.contentHash, known);
    const run = store.runs.get(known);
    if (run !== undefined && run.fields['rows'] === undefined) run.fields = { ...fields, ...run.fields };
    return { id: known, result: 'known' };
  }
  if (store.season !== store.server) return { id: '', result: 'season' };
  if (store.runs.has(claim.id)) return { id: claim.id, result: 'taken' };
  store.files.set(claim.fileSha256, claim.id);
  store.contents.set(claim.contentHash, claim.id);
  const run = blankRun(claim.id, now);
  run.fields = fields;
  store.runs.set(claim.id, run);
  return { id: claim.id, result: 'new' };
}

export function recordRows(
  store: Store,
  runId: string,
  { rows, rememberMs, now }: { rows: readonly RowRecord[]; rememberMs: number; now: number },
): 'recorded' | 'closed' | 'season' {
  if (store.season !== store.server) return 'season';
  const run = store.runs.get(runId);
  const isRecorded = run !== undefined && run.fields['lastLine'] !== undefined && hasAllRows(run);
  const isCancelled = run?.state === 'cancelled' && !isRecorded;
  if (run === undefined || (run.state !== 'recording' && !isCancelled)) return 'closed';
  const facts = claimFacts(store, run, { rows, now });
  for (const change of decideRecording(runId, rows, { facts, rememberMs })) commit(store, change, now);
  return 'recorded';
}

/** What the ledger knows of rows that are to be recorded (src/ledger/payouts/duplicates.ts). Nothing is looked at that is like them. */
function claimFacts(
  store: Store,
  { id, state, fields }: RunEntry,
  { rows, now }: { rows: readonly RowRecord[]; now: number },
): ClaimFacts {
  const run = { state, doubted: fields['doubted'] ?? '', isPurged: false, isRecorded: false, hasAllRows: false };
  const facts = rows.map(({ line, referenceHash, fields: row }) => {
    const claimants = claimantsOf(store, referenceHash ?? '');
    return {
      record: store.entries.get(entryId(id, line))?.record,
      claimants: claimants.join(' '),
      holders: [...claimants, ...formerOf(store, referenceHash ?? '')].map((holder) => earlierOf(store, holder)),
      period: '',
      samePeriodId: '',
      twins: [],
      isBlocked: false,
      wasPaid: store.paid.has(beneficiaryHash(row['ben'] ?? '')),
      wasGivenUp: fields[`gaveUp:${line}`] !== undefined,
    };
  });
  return { at: now, isOpen: true, run, rows: facts };
}

function earlierOf({ entries, runs }: Store, id: string): Earlier {
  const run = runs.get(placeOfId(id).runId);
  const finishedAt = run?.finishedAt ?? undefined;
  const wasThereAtLoss = run?.fields['atLoss'] !== undefined || run?.fields['doubted'] !== undefined;
  return { id, record: entries.get(id)?.record, createdAt: run?.createdAt, finishedAt, wasThereAtLoss };
}

/** The run of a file and its content; of a stub the content may not be known. */
export function runOfContent(store: Store, file: string, content: string): string | undefined {
  const known = store.contents.get(content);
  if (known !== undefined) return known;
  const ofFile = store.files.get(file);
  const its = ofFile === undefined ? undefined : store.runs.get(ofFile)?.fields['contentHash'];
  return its === undefined || content === '' || its === content ? ofFile : undefined;
}

/** Whether each row of the run's file has a record. */
export function hasAllRows({ counts, fields }: RunEntry): boolean {
  const recorded = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return recorded === Number.parseInt(fields['rows'] ?? '-1', 10);
}

export interface RunMove {
  readonly to: RunState;
  readonly actor: string;
  readonly reason: string;
  readonly from?: RunState;
  /** For the audit log. */
  readonly act?: string;
}

export function moveRun(store: Store, runId: string, { move, now }: { move: RunMove; now: number }): RunMoveAnswer {
  const run = store.runs.get(runId);
  if (run === undefined) return { result: 'missing', state: '' };
  const { state } = run;
  const known = state === 'paused' && move.to === 'paused' && move.act !== undefined ? (run.pauseReason ?? '') : '';
  const isKnown = known === '' || `; ${known}; `.includes(`; ${move.reason}; `);
  if (state === move.to && isKnown) {
    if (known !== '') run.pauses++;
    return { result: 'there', state };
  }
  if ((state !== move.to && !RUN_TABLE[state].includes(move.to)) || (move.from !== undefined && move.from !== state))
    return { result: 'forbidden', state };
  const refusal = refusalOf(store, run, move.to);
  if (refusal !== undefined) return { result: refusal, state };
  let to = move.to;
  let reason = known === '' ? move.reason : `${known}; ${move.reason}`;
  if (to === 'paying' && store.halt !== null) {
    to = 'paused';
    reason = 'everything was halted when it was to begin';
  }
  const isStoppedAhead = to === 'paying' && state === 'recording' && store.stopsAhead.has(runId);
  if (isStoppedAhead) {
    if (store.stopsAhead.get(runId) === 'run.paused') store.stopsAhead.delete(runId);
    to = 'paused';
    reason = 'people stopped it, and Redis forgot that';
  }
  if (to === 'paying' && state === 'recording' && run.fields['restored'] !== undefined) {
    to = 'paused';
    reason = 'some of it was restored from intent logs: look at it before it goes on';
  }
  run.state = to;
  run.changes++;
  run.pauseReason = to === 'paused' ? reason : null;
  if (to === 'paused') run.pauses++;
  if (to === 'paying') delete run.fields['lastOutcomes'];
  if (to === 'finished' || to === 'cancelled') {
    run.finishedAt = now;
    run.fields['finishedChanges'] = String(run.changes);
    delete run.fields['deadQuotesFound'];
  }
  store.live.add(runId);
  run.events.push({ event: to, actor: move.actor, reason });
  return { result: 'moved', state: to };
}

/** What keeps a run from a move that the table has. */
function refusalOf(store: Store, run: RunEntry, to: RunState): RunMoveAnswer['result'] | undefined {
  if (run.state === 'recording' && to !== 'cancelled') {
    if (store.season !== store.server) return 'season';
    return hasAllRows(run) ? undefined : 'incomplete';
  }
  if (to === 'paying' && store.halt !== null) return 'halted';
  if (to !== 'finished') return undefined;
  if (store.season !== store.server) return 'season';
  if (OPEN.some((open) => run.counts[open] > 0)) return 'open';
  if (!hasAllRows(run)) return 'incomplete';
  return run.state === 'paused' && run.counts.held > 0 ? 'open' : undefined;
}

export function runOf(entry: RunEntry): Run {
  const number = (name: string): number => Number.parseInt(entry.fields[name] ?? '0', 10);
  const amounts = new Map<string, Record<Outcome, bigint>>();
  for (const [key, minor] of entry.amounts) {
    const space = key.indexOf(' ');
    const currency = key.slice(0, space);
    const row = amounts.get(currency) ?? { ...NO_AMOUNTS };
    row[key.slice(space + 1) as Outcome] = minor;
    amounts.set(currency, row);
  }
  return {
    id: entry.id,
    state: entry.state,
    pauseReason: entry.pauseReason,
    pauses: entry.pauses,
    startAt: null,
    stages: null,
    stagePlan: null,
    maxCostDriftBp: null,
    askedStart: null,
    contentHash: entry.fields['contentHash'] ?? '',
    approvals: [],
    rowsDigest: null,
    seal: null,
    reportHashes: [],
    purgedAt: null,
    submissionKey: null,
    dropper: null,
    currencies: [],
    columns: [],
    newBeneficiaryRows: number('newBeneficiaryRows'),
    fileName: entry.fields['fileName'] ?? '',
    fileSha256: entry.fields['fileSha256'] ?? '',
    rows: number('rows'),
    fileTotals: [],
    createdAt: entry.createdAt,
    createdBy: entry.fields['createdBy'] ?? '',
    isTakenOver: false,
    isInDoubt: entry.fields['restored'] !== undefined || entry.fields['doubted'] !== undefined,
    recordedAt: entry.fields['recordedAt'] === undefined ? null : number('recordedAt'),
    finishedAt: entry.finishedAt,
    finishedChanges: number('finishedChanges'),
    counts: { ...entry.counts },
    amounts,
    changes: entry.changes,
    reportedChanges: number('reportedChanges'),
    reportVersion: number('reportVersion'),
    deadQuotes: entry.former.filter(({ isProvenDead }) => isProvenDead).length,
    reconciled: null,
    samples: [],
    funds: null,
    deadQuotesFound: entry.fields['deadQuotesFound'] === undefined ? null : number('deadQuotesFound'),
  };
}

/** Takes what is due out of a set, the longest due first, and puts it off. */
export function takeFrom(due: Map<string, number>, now: number, most = Number.POSITIVE_INFINITY): string[] {
  const ids: [string, number][] = [];
  for (const [id, at] of due) if (at <= now) ids.push([id, at]);
  if (ids.length === 0) return [];
  ids.sort((a, b) => a[1] - b[1] || (a[0] < b[0] ? -1 : 1));
  const taken = ids.slice(0, most).map(([id]) => id);
  for (const id of taken) due.set(id, now + GIVEN_OUT_MS);
  return taken;
}

/** The lines of a run in a state, ascending. */
export function linesIn(store: Store, runId: string, state: RowState): number[] {
  const lines: number[] = [];
  for (const entry of store.entries.values())
    if (entry.runId === runId && entry.state === state) lines.push(entry.line);
  return lines.toSorted((a, b) => a - b);
}

/** Notes that the quotes which payouts of a run left behind were asked for; false where there are more by now. */
export function noteAsked({ runs }: Store, runId: string, quotes: number): boolean {
  const run = runs.get(runId);
  if (run === undefined || run.former.length !== quotes) return false;
  const found = run.fields[QUOTES_FOUND]?.split(' ') ?? [];
  const dead = run.former.filter(({ isProvenDead, quoteId }) => isProvenDead && found.includes(quoteId));
  run.fields['deadQuotesFound'] = String(dead.length);
  return true;
}
