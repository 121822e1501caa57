import type { Redis } from 'ioredis';
import { FREE_STATES, placeOfId } from '../../payout.ts';
import { type LedgerKeys, likelyPeriodsBack, referencesKey } from '../keys.ts';
import { integerOf, listOf, runScript, script, textOf, textsOf } from '../script.ts';
import { READ_CLAIMS } from '../scripts/duplicates.ts';
import { openReading, readText } from './reading.ts';
import type { StoredPayout } from './stored.ts';

/** What of a row decides whether it is one too many. */
export interface RowClaims {
  readonly line: number;
  /** Hash of the folded reference in hexadecimal; null for a refused row. */
  readonly referenceHash: string | null;
  /** What a likely duplicate would have in common with it, as 16 hexadecimal digits, and for how long it would be one. */
  readonly duplicateKey?: { readonly hash: string; readonly withinMs: number } | undefined;
  readonly beneficiaryIdentityId: string | null;
}

/** A payout that a row may be too many beside. */
export interface Earlier {
  readonly id: string;
  /** Undefined once its run was purged. */
  readonly record: StoredPayout | undefined;
  /** Of its run, in milliseconds since 1970. */
  readonly createdAt: number | undefined;
  readonly finishedAt: number | undefined;
  /** Whether its run was there when a data directory was written off: that host may have paid the reference again. */
  readonly wasThereAtLoss: boolean;
}

/** What the ledger knows of a row. */
export interface RowFacts {
  readonly record: StoredPayout | undefined;
  /** What its reference stands for, as it is stored; these payouts, and those that had it before people allowed another one. */
  readonly claimants: string;
  readonly holders: readonly Earlier[];
  /** The period in which a like payout would stand, and what stands in it. */
  readonly period: string;
  readonly samePeriodId: string;
  /** The like payouts of this period and of those before it, the latest first. */
  readonly twins: readonly Earlier[];
  readonly isBlocked: boolean;
  readonly wasPaid: boolean;
  readonly wasGivenUp: boolean;
}

export interface ClaimFacts {
  readonly at: number;
  readonly isOpen: boolean;
  readonly run: {
    readonly state: string;
    readonly doubted: string;
    readonly isPurged: boolean;
    readonly isRecorded: boolean;
    readonly hasAllRows: boolean;
  };
  readonly rows: readonly RowFacts[];
}

/** Reads what decides how rows are recorded; `runId` '' for rows that were not handed in yet. */
export function openClaimFacts(
  redis: Redis,
  keys: LedgerKeys,
): (runId: string, rows: readonly RowClaims[]) => Promise<ClaimFacts> {
  const { prefix } = keys;
  const claims = script(READ_CLAIMS);
  const readRecords = openReading(redis, prefix);

  async function readEarlier(ids: ReadonlySet<string>): Promise<ReadonlyMap<string, Earlier>> {
    const places = [...ids].map(placeOfId);
    if (places.length === 0) return new Map();
    const runIds = [...new Set(places.map(({ runId }) => runId))];
    const [{ records }, ...times] = await Promise.all([
      readRecords(places),
      ...runIds.map((runId) => redis.hmget(keys.run(runId), 'createdAt', 'finishedAt', 'atLoss', 'doubted')),
    ]);
    const timesOf = new Map(runIds.map((runId, index) => [runId, times[index] ?? []]));
    return new Map(
      [...ids].map((id, index) => {
        const record = records[index];
        const [createdAt = null, finishedAt = null, atLoss, doubted] = timesOf.get(places[index]?.runId ?? '') ?? [];
        if (record instanceof Error) throw record;
        const wasThereAtLoss = atLoss === '1' || doubted === '1';
        return [id, { id, record, createdAt: timeOf(createdAt), finishedAt: timeOf(finishedAt), wasThereAtLoss }];
      }),
    );
  }

  return async (runId, rows) => {
    const args = rows.flatMap(({ line, referenceHash, duplicateKey, beneficiaryIdentityId }) => [
      line,
      referenceHash ?? '',
      duplicateKey?.hash ?? '',
      duplicateKey === undefined ? '' : likelyPeriodsBack(duplicateKey.withinMs),
      beneficiaryIdentityId ?? '',
    ]);
    const reply = listOf(await runScript(redis, claims, { prefix, args: [runId, ...args] }));
    const [at, isOpen, state, doubted, purged, recorded, all, found] = reply;
    const texts = listOf(found).map(textsOf);
    const earlier = await readEarlier(
      new Set(
        texts.flatMap(([, , , same, before, , , , whose]) => [...idsIn(whose), ...idsIn(same), ...idsIn(before)]),
      ),
    );
    return {
      at: integerOf(at),
      isOpen: integerOf(isOpen) === 1,
      run: {
        state: textOf(state),
        doubted: textOf(doubted),
        isPurged: purged === '1',
        isRecorded: recorded === '1',
        hasAllRows: all === '1',
      },
      rows: texts.map((told) => rowFacts(told, earlier)),
    };
  };
}

/** What the script tells of a row, in its order. */
function rowFacts(
  [text = '', claimants = '', period = '', same = '', before = '', ...more]: readonly string[],
  earlier: ReadonlyMap<string, Earlier>,
): RowFacts {
  const [blocked, paid, gaveUp, whose = ''] = more;
  const record = text === '' ? undefined : readText(text);
  if (record instanceof Error) throw record;
  const earlierIn = (ids: string): Earlier[] => idsIn(ids).flatMap((id) => earlier.get(id) ?? []);
  return {
    record,
    claimants,
    holders: earlierIn(whose),
    period,
    samePeriodId: same,
    twins: earlierIn(`${same} ${before}`),
    isBlocked: blocked === '1',
    wasPaid: paid === '1',
    wasGivenUp: gaveUp === '1',
  };
}

function timeOf(text: string | null): number | undefined {
  return text === null ? undefined : integerOf(text);
}

/** The ids in a text with blanks between them. */
export function idsIn(claimants: string | null | undefined): readonly string[] {
  return (claimants ?? '').split(' ').filter((id) => id !== '');
}

const SETTLED_STATES: readonly string[] = ['completed', 'failed', 'returned', 'rejected', 'cancelled'];
/** No request for a payment is to come or in doubt. */
const DONE_STATES: readonly string[] = ['accepted', ...SETTLED_STATES];

/** Whether a payout came to nothing for certain, so that its reference is free and a like one is none too many. */
function cameToNothing(record: StoredPayout | undefined): boolean {
  if (record === undefined || record.state === 'refused' || !FREE_STATES.includes(record.state)) return false;
  return !(record.state === 'rejected' && record.values.has('q') && !record.values.has('ok'));
}

export interface DuplicateRules {
  /** The id of the row that is judged. */
  readonly own: string;
  readonly at: number;
  readonly rememberMs: number;
}

const DAY_MS = 24 * 60 * 60_000;

/**
 * The payout that has a reference, unless it gave it free or was settled longer ago than it is remembered: by Redis's clock, and by
 * the days on which both runs were handed in, which other clocks said.
 */
export function holderAgainst(
  holders: readonly Earlier[],
  { own, at, rememberMs }: DuplicateRules,
): string | undefined {
  const now = Math.min(at, dayOfRun(own, at) + DAY_MS);
  return holders.find(({ id, record, finishedAt }) => {
    if (id === own || cameToNothing(record)) return false;
    if (record !== undefined && !SETTLED_STATES.includes(record.state)) return true;
    const settledAt = timeOf(record?.values.get('st') ?? null) ?? finishedAt ?? at;
    return now - Math.max(settledAt, dayOfRun(id, settledAt)) <= rememberMs;
  })?.id;
}

/** When the day began with which the id of a payout's run begins, in ms since 1970. */
function dayOfRun(id: string, otherwise: number): number {
  const [, year, month, day] = /^([0-9]{4})([0-9]{2})([0-9]{2})-/.exec(id) ?? [];
  const at = Date.parse(`${year}-${month}-${day}`);
  return Number.isNaN(at) ? otherwise : at;
}

/** The payout that gave a reference free, and that was there when a data directory was written off. */
export function freedAtLoss(holders: readonly Earlier[], own: string): string | undefined {
  return holders.find(({ id, record, wasThereAtLoss }) => id !== own && wasThereAtLoss && cameToNothing(record))?.id;
}

/**
 * The payout with the same beneficiary, amount and currency, unless it came to nothing. One that the service accepted counts for a
 * time: from its hand-in, or where it waited for longer than a day, from the day before it was sent.
 */
export function twinAgainst(
  twins: readonly Earlier[],
  withinMs: number,
  { own, at }: Pick<DuplicateRules, 'own' | 'at'>,
): string | undefined {
  return twins.find(({ id, record, createdAt, finishedAt }) => {
    if (id === own || cameToNothing(record)) return false;
    if (record !== undefined && !DONE_STATES.includes(record.state)) return true;
    const sentAt = timeOf(record?.values.get('aa') ?? null) ?? finishedAt ?? 0;
    return at - Math.max(createdAt ?? 0, sentAt - DAY_MS) <= withinMs;
  })?.id;
}

type Place = { readonly redis: Redis; readonly prefix: string };
export type Holder = { readonly id: string; readonly record: StoredPayout | undefined };

/** What a reference stands for, as it is stored, and what had it before people allowed that one. */
export async function readClaimants({ redis, prefix }: Place, hash: string): Promise<readonly [string, string]> {
  const [claimants, former] = await redis.hmget(referencesKey(prefix, hash), hash, `${hash}+`);
  return [claimants ?? '', former ?? ''];
}

/**
 * The payouts with which another one shares its reference, and those that had it before people allowed one of them: all that have not
 * come to nothing; where all of them did, the first that it shares it with.
 */
export async function holdersBeside(
  place: Place,
  [claimants, former]: readonly [string, string],
  own: string,
): Promise<readonly Holder[]> {
  const others = (await readHolders(place, `${claimants} ${former}`)).filter(({ id }) => id !== own);
  const open = standing(others);
  return open.length > 0 ? open : others.filter(({ id }) => idsIn(claimants).includes(id)).slice(0, 1);
}

/** The payouts for which a reference stands, and those that had it before, if they have not come to nothing. */
export async function readStanding(place: Place, hash: string): Promise<string[]> {
  const [claimants, former] = await readClaimants(place, hash);
  return [...idsIn(claimants), ...standing(await readHolders(place, former)).map(({ id }) => id)];
}

async function readHolders({ redis, prefix }: Place, claimants: string): Promise<Holder[]> {
  const ids = [...new Set(idsIn(claimants))];
  if (ids.length === 0) return [];
  const { records } = await openReading(redis, prefix)(ids.map(placeOfId));
  return ids.map((id, index) => {
    const record = records[index];
    if (record instanceof Error) throw record;
    return { id, record };
  });
}

function standing(holders: readonly Holder[]): Holder[] {
  return holders.filter(({ record }) => !cameToNothing(record));
}
