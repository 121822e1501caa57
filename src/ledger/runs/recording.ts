import type { Redis } from 'ioredis';
import type { Money } from '../../money.ts';
import { outcomeOf, payoutId } from '../../payout.ts';
import { type LedgerKeys, LIKELY_PERIOD_MS, likelyPeriodsBack } from '../keys.ts';
import { openCommit } from '../payouts/commit.ts';
import type { Change, Operation } from '../payouts/decide-move.ts';
import {
  type ClaimFacts,
  type DuplicateRules,
  type Earlier,
  freedAtLoss,
  holderAgainst,
  openClaimFacts,
  type RowFacts,
  twinAgainst,
} from '../payouts/duplicates.ts';
import { amountOf, ROW_PLACES } from '../payouts/record.ts';
import { committed, decode, encode, type RowState, type StoredPayout } from '../payouts/stored.ts';
import { LedgerFault } from '../script.ts';

/** A row to be recorded: the record's fields (record.ts), its state, and what it adds to the counters. */
export interface RowRecord {
  readonly line: number;
  readonly state: 'ready' | 'refused';
  readonly fields: Readonly<Record<string, string>>;
  readonly amount: Money | null;
  /** Hash of the folded reference in hexadecimal; null for a refused row. */
  readonly referenceHash: string | null;
  /** What a likely duplicate would have in common with it, as 16 hexadecimal digits, and for how long it would be one. */
  readonly duplicateKey?: { readonly hash: string; readonly withinMs: number } | undefined;
  /** Of a refused row that was sound when it was sent: what a record gets that was restored from an intent log. */
  readonly sound?: Pick<RowRecord, 'fields' | 'amount' | 'referenceHash'> | undefined;
}

/** How often a batch is decided anew, because others claimed a reference meanwhile. */
const ROUNDS_MAX = 100;

/** `other-rows`: a row stands there that is not the file's. */
export type RecordResult = 'recorded' | 'closed' | 'season' | 'other-rows';

type Recording = (runId: string, rows: readonly RowRecord[], rememberMs: number) => Promise<RecordResult>;

/**
 * Records rows of a run that is being recorded. `closed`: it is not being recorded any more, or was purged; `season`: in a closed
 * season, or in a ledger that forgot the run.
 *
 * A record that is there stays as it is, so recording may be run again; only a record that was restored from an intent log, which
 * lacks its row, is given the row. A reference that an earlier payout has not given free makes the new payout held, with a link to
 * the earlier one; so does a likely duplicate. The rows of a run that was cancelled while it was being recorded are recorded as
 * cancelled, or as held where a lost host may have sent them: none of them is lost.
 */
export function openRecording(redis: Redis, keys: LedgerKeys): Recording {
  const readFacts = openClaimFacts(redis, keys);
  const commit = openCommit(keys.prefix);
  return async (runId, rows, rememberMs) => {
    const claims = rows.map(({ line, referenceHash, duplicateKey, fields }) => {
      return { line, referenceHash, duplicateKey, beneficiaryIdentityId: fields['ben'] ?? null };
    });
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const facts = await readFacts(runId, claims);
      const { state, doubted, isPurged, isRecorded, hasAllRows } = facts.run;
      // A run that is gone was forgotten by a Redis that went back.
      if (!facts.isOpen || state === '') return 'season';
      const isCancelled = state === 'cancelled' && !(isRecorded && hasAllRows);
      if (isPurged || (state !== 'recording' && !isCancelled)) return 'closed';
      if (rows.some((row, index) => isOther(row, facts.rows[index]?.record))) return 'other-rows';
      const changes = decideRecording(runId, rows, { facts, rememberMs });
      const { answers } = await commit(redis, changes, { kind: 'record', runId, state, doubted });
      const refused = answers.flatMap(({ words }) => (words === undefined ? [] : [words[0]]));
      if (refused.includes('season')) return 'season';
      if (refused.length === 0) return 'recorded';
    }
    throw new LedgerFault('rows are recorded by others again and again');
  };
}

interface RecordingFacts {
  readonly facts: ClaimFacts;
  readonly rememberMs: number;
}

/** What rows of the same batch claimed before. */
interface Claimed {
  readonly references: Map<string, Earlier>;
  readonly twins: Map<string, Earlier>;
}

/** What the records of rows become, in the order of the rows. A row whose record stays as it is has no change. */
export function decideRecording(
  runId: string,
  rows: readonly RowRecord[],
  { facts, rememberMs }: RecordingFacts,
): Change[] {
  const claimed: Claimed = { references: new Map(), twins: new Map() };
  return rows.flatMap((row, index): Change[] => {
    const known = facts.rows[index];
    if (known === undefined) throw new LedgerFault('a row was not read');
    const rules = { own: payoutId({ runId, line: row.line }), at: facts.at, rememberMs };
    const judging = { known, claimed, rules, isDoubted: facts.run.doubted !== '' };
    const { record: there } = known;
    if (there !== undefined) return fillIn(runId, row, { ...judging, there });
    // A host that is lost may have sent it before intake refused it.
    if (row.state === 'refused' && judging.isDoubted && row.sound !== undefined)
      return [recordedAsJudged(runId, { ...row, ...row.sound, state: 'ready' }, judging)];
    if (row.state === 'refused') return [recorded(runId, row, { known, state: 'refused', fields: {}, operations: [] })];
    if (facts.run.state === 'cancelled' && !judging.isDoubted) {
      return [recorded(runId, row, { known, state: 'cancelled', fields: {}, operations: [] })];
    }
    return [recordedAsJudged(runId, row, judging)];
  });
}

function fillIn(runId: string, row: RowRecord, judging: Judging & { readonly there: StoredPayout }): Change[] {
  const sent = row.state === 'ready' ? row : row.sound;
  if (sent === undefined || !lacksRow(judging.there)) return [];
  const { wasGivenUp } = judging.known;
  return [filled(runId, row, { there: judging.there, sent, wasGivenUp, twin: judgeTwin(row, judging) })];
}

/** What the row claims is seen by the rows after it. */
function recordedAsJudged(runId: string, row: RowRecord, judging: Judging & { readonly isDoubted: boolean }): Change {
  const { known, claimed, rules } = judging;
  const verdict = judgeRow(row, judging);
  const change = recorded(runId, row, { known, ...verdict });
  const record = decode(committed(encode(change.after, change.step), rules.at));
  const now = { id: rules.own, record, createdAt: rules.at, finishedAt: undefined, wasThereAtLoss: false };
  if (verdict.claimsReference) claimed.references.set(row.referenceHash ?? '', now);
  if (verdict.claimsTwin) claimed.twins.set(row.duplicateKey?.hash ?? '', now);
  return change;
}

/** Why a row is refused that the service's list of identities may let go at another time. */
const REFUSED_FOR_NOW: readonly (string | undefined)[] = ['E_BENEFICIARY', 'E_ORIGINATOR'];

/** Whether a record is of another row than the file has on its line: the file was changed while it was recorded. */
function isOther(row: RowRecord, there: StoredPayout | undefined): boolean {
  if (there === undefined || lacksRow(there)) return false;
  const sound = row.state === 'ready' ? row : row.sound;
  const { values } = there;
  if (there.state === 'refused') {
    if (REFUSED_FOR_NOW.includes(values.get('code'))) return false;
    return row.state === 'ready' || values.get('cells') !== row.fields['cells'];
  }
  return sound === undefined || ROW_PLACES.some((name) => values.get(name) !== sound.fields[name]);
}

/** Whether a record was restored from an intent log, and its file did not come again yet. */
function lacksRow({ state, values }: StoredPayout): boolean {
  return state !== 'refused' && !values.has('rh');
}

interface Judging {
  readonly known: RowFacts;
  readonly claimed: Claimed;
  readonly rules: DuplicateRules;
}

/** The like payout before a row; without one the row takes that place itself. */
function judgeTwin(
  row: RowRecord,
  { known, claimed, rules }: Judging,
): { twin: string | undefined; operations: Operation[] } {
  const { duplicateKey } = row;
  if (duplicateKey === undefined) return { twin: undefined, operations: [] };
  const { hash, withinMs } = duplicateKey;
  const mine = claimed.twins.get(hash);
  const twin = twinAgainst(mine === undefined ? known.twins : [mine], withinMs, rules);
  const check: Operation = ['likelyis', known.period, hash, mine?.id ?? known.samePeriodId];
  const keptMs = (likelyPeriodsBack(withinMs) + 1) * LIKELY_PERIOD_MS;
  return { twin, operations: twin === undefined ? [check, ['likely', known.period, hash, keptMs]] : [check] };
}

interface RowVerdict {
  readonly state: RowState;
  readonly fields: Readonly<Record<string, string>>;
  readonly operations: readonly Operation[];
  readonly claimsReference: boolean;
  readonly claimsTwin: boolean;
}

/** Whether a row that could be paid is held, and why. One that is held for a like one takes no place: else it would be enough to cancel that. */
function judgeRow(row: RowRecord, judging: Judging & { readonly isDoubted: boolean }): RowVerdict {
  const { known, claimed, rules, isDoubted } = judging;
  const hash = row.referenceHash ?? '';
  const mine = claimed.references.get(hash);
  const earlier = holderAgainst(mine === undefined ? known.holders : [mine], rules);
  const { twin, operations } = judgeTwin(row, judging);
  const checks: Operation[] = [['refis', hash, mine?.id ?? known.claimants], ...operations];
  const held = (code: string, reason: string, more: Record<string, string> = {}): RowVerdict => ({
    ...verdict,
    state: 'held',
    fields: { rc: code, rs: reason, ...more },
  });
  const verdict: RowVerdict = {
    state: 'ready',
    fields: {},
    operations: [...checks, ...claimOn(hash, { earlier, isDoubted })],
    claimsReference: earlier === undefined,
    claimsTwin: twin === undefined,
  };
  if (isDoubted) {
    const more = { ...(known.wasGivenUp ? { gu: '1' } : {}), ...(earlier === undefined ? {} : { rfh: hash }) };
    return held('E_DIR_LOST', 'a data directory that may have sent it was written off', more);
  }
  if (known.wasGivenUp) return held('E_GIVEN_UP', 'it was given up, and Redis forgot that');
  const freed = freedAtLoss(known.holders, rules.own);
  if (freed !== undefined) {
    const reason = `payout ${freed} had its reference, and a data directory was written off that may have paid it again`;
    return held('E_DIR_LOST', reason);
  }
  if (earlier !== undefined) return held('E_DUP_HISTORY', `its reference belongs to payout ${earlier}`, { rfh: hash });
  if (twin !== undefined) {
    return held('E_DUP_LIKELY', `payout ${twin} has the same beneficiary, amount and currency`);
  }
  return verdict;
}

/** A reference that an earlier payout has is shared where a lost host may have paid by it: then nobody else is sent by it either. */
function claimOn(
  hash: string,
  { earlier, isDoubted }: { readonly earlier: string | undefined; readonly isDoubted: boolean },
): Operation[] {
  if (earlier === undefined) return [['ref', hash]];
  return isDoubted ? [['refback', hash]] : [];
}

function recorded(
  runId: string,
  row: RowRecord,
  {
    known,
    state,
    fields,
    operations,
  }: Pick<RowVerdict, 'state' | 'fields' | 'operations'> & { readonly known: RowFacts },
): Change {
  const isNew = row.fields['ben'] !== undefined && !known.wasPaid;
  return {
    runId,
    line: row.line,
    before: undefined,
    after: {
      text: '',
      version: 1,
      state,
      due: 0,
      history: [],
      values: new Map(Object.entries({ ...row.fields, ...fields })),
    },
    step: { to: state, actor: 'intake', reason: fields['rc'] ?? '' },
    operations: isNew ? [...operations, ['newben']] : operations,
  };
}

/** A record that was restored from an intent log, with its row. */
function filled(
  runId: string,
  row: RowRecord,
  {
    there,
    sent,
    wasGivenUp,
    twin,
  }: {
    there: StoredPayout;
    sent: Pick<RowRecord, 'fields' | 'amount' | 'referenceHash'>;
    wasGivenUp: boolean;
    twin: { readonly operations: readonly Operation[] };
  },
): Change {
  const values = new Map([...there.values, ...Object.entries(sent.fields)]);
  if (wasGivenUp) values.set('gu', '1');
  const amount = amountOf(values);
  const isUnknown = there.state === 'unknown';
  const operations: Operation[] = [...twin.operations];
  if (sent.referenceHash !== null) operations.push(['refnx', sent.referenceHash]);
  if (amount !== undefined) operations.push(['sum', `m:${amount.currency}:${outcomeOf(there.state)}`, amount.minor]);
  return {
    runId,
    line: row.line,
    before: there,
    after: { ...there, version: there.version + 1, due: isUnknown ? { fromNowMs: 0 } : there.due, values },
    dueMs: isUnknown ? 0 : undefined,
    operations,
  };
}
