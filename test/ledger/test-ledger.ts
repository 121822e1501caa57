import type { Redis } from 'ioredis';
import { afterAll } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { Arming, MoveAnswer, PayoutMove } from '../../src/ledger/payouts/acts.ts';
import { rowFields } from '../../src/ledger/payouts/record.ts';
import type { RowRecord } from '../../src/ledger/runs/recording.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import type { PayoutPlace } from '../../src/payout.ts';
import {
  OUTCOMES,
  type Outcome,
  outcomeOf,
  PAYOUT_STATES,
  type Payout,
  type PayoutRow,
  type PayoutState,
  type RefusedRow,
} from '../../src/payout.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import type { ReportDeps } from '../../src/runs/after/report.ts';
import { ROW } from '../support/payout-row.ts';
import { freshPrefix, type TestRedis } from '../support/redis.ts';

export const DATA_DIR = 'dir-a';
export const SAFETY = 'arm deadline 2000 ms, likely duplicates 0 ms';
export const SERVICE = 'https://service.example test tenant';
/** For conditions that a busy machine, or a Redis that is loading its files, may keep waiting. */
export const PATIENCE = { timeout: 60_000 };
export const LIFE_MS = 60_000;
export const REMEMBER_MS = 24 * 60 * 60 * 1000;

export interface TestLedger {
  readonly ledger: Ledger;
  readonly prefix: string;
  readonly keys: ReturnType<typeof ledgerKeys>;
  readonly redis: Redis;
  readonly instance: string;
  /** The same ledger, for another data directory. */
  in(dataDirId: string): Ledger;
}

/** A connection that arms, as the app opens it. */
export async function connectArming(server: TestRedis, commandTimeoutMs = 10_000): Promise<Redis> {
  return await connectRedis({ socket: server.socket }, { name: 'test', kind: 'arming', commandTimeoutMs });
}

/** The same for all tests of a file. */
export async function useArming(server: TestRedis): Promise<Redis> {
  const arming = await connectArming(server);
  afterAll(() => arming.disconnect());
  return arming;
}

/** Copies everything that Redis holds of a ledger; gives what puts it back. */
export async function copyLedger(redis: Redis, prefix: string): Promise<() => Promise<void>> {
  const keys = await redis.keys(`${prefix}:*`);
  const dumps = await Promise.all(keys.map(async (key) => ({ key, dump: await redis.dumpBuffer(key) })));
  return async () => {
    await redis.del(await redis.keys(`${prefix}:*`));
    await Promise.all(dumps.map(({ key, dump }) => redis.restore(key, 0, dump)));
  };
}

/** A new ledger, open and in its season, on connections that are there. */
export async function newLedger(connections: { redis: Redis; arming: Redis }): Promise<TestLedger> {
  const prefix = freshPrefix();
  const own = { prefix, safety: SAFETY };
  const ledger = openLedger(connections, { ...own, dataDirId: DATA_DIR });
  const instance = await ledger.state.open(claimOf());
  await enterDir(ledger, DATA_DIR);
  return {
    ledger,
    prefix,
    keys: ledgerKeys(prefix),
    redis: connections.redis,
    instance,
    in: (dataDirId) => openLedger(connections, { ...own, dataDirId }),
  };
}

/** Lets a data directory without intent logs arm; every other one takes note of it. */
export async function enterDir({ state: head }: Ledger, dataDirId: string): Promise<void> {
  await head.enterDir(dataDirId);
  const { server, dataDirIds } = await head.season();
  for (const other of dataDirIds) await head.notePeers(other, dataDirIds);
  await head.compare({ dataDirId, server, last: true, json: '[]', peers: dataDirIds });
}

export function claimOf(knownInstance = ''): Parameters<Ledger['state']['open']>[0] {
  return { knownInstance, newInstance: systemRandom.uuid(), service: SERVICE, safety: SAFETY, requireMatch: true };
}

/** A row whose reference is made from its line, unless told otherwise. */
export function rowOf(line: number, other: Partial<PayoutRow> = {}): PayoutRow {
  return {
    ...ROW,
    line,
    reference: `inv-${line}`,
    beneficiaryIdentityId: '3e7a9d24-0b6c-4f18-a52d-9c4be8f1d073',
    amount: { minor: BigInt(line) * 100n + 1n, currency: 'USD' },
    ...other,
  };
}

export function recordOf(row: PayoutRow): RowRecord {
  return {
    line: row.line,
    state: 'ready',
    fields: rowFields(row, 'seal'),
    amount: row.amount,
    referenceHash: hashReference(row.reference),
  };
}

/** What writes a report of this ledger's runs into a folder. */
export function reportDeps(ledger: Ledger, reportDir: string): ReportDeps {
  return {
    ledger,
    clock: systemClock,
    at: noCrash,
    config: { reportDir, service: undefined, signingKey: undefined },
    serviceName: SERVICE,
    capabilities: new Set(),
    overrides: [],
  };
}

/** Rows of lines 2 to `count + 1`, with references of no other run. */
export function freshRows(count: number): PayoutRow[] {
  const tag = systemRandom.bytes(4).toString('hex');
  return Array.from({ length: count }, (_value, index) => rowOf(index + 2, { reference: `${tag}-${index + 2}` }));
}

const today = (): string => new Date().toISOString().slice(0, 10).replaceAll('-', '');

/** Claims a run for these rows, handed in on this day (`YYYYMMDD`); nothing of it is recorded yet. */
export async function claimRun(ledger: Ledger, rows: readonly PayoutRow[], day = today()): Promise<string> {
  const tag = systemRandom.bytes(16).toString('hex');
  const { id, result } = await ledger.runs.claim({
    id: `${day}-${tag.slice(0, 6)}`,
    fileName: 'payouts.csv',
    fileSha256: tag,
    contentHash: tag,
    rows: rows.length,
    fileTotals: [],
    createdBy: 'anna',
  });
  if (result !== 'new') throw new Error(`not claimed: ${result}`);
  return id;
}

/** Records rows, as a submit does; gives the answer. */
export async function recordRows(
  ledger: Ledger,
  runId: string,
  rows: readonly PayoutRow[],
): ReturnType<Ledger['runs']['record']> {
  const sealed = rows.map((row) => {
    const seal = ledger.seals.row({ runId, line: row.line }, row, false);
    return { ...recordOf(row), fields: rowFields(row, seal) };
  });
  return await ledger.runs.record(runId, sealed, REMEMBER_MS);
}

/** A run of these rows that is being paid. */
export async function payingRun(ledger: Ledger, rows: readonly PayoutRow[], day?: string): Promise<string> {
  const id = await claimRun(ledger, rows, day);
  await recordRows(ledger, id, rows);
  await ledger.runs.note(id, { lastLine: String(rows.at(-1)?.line ?? 1) });
  await ledger.runs.move(id, { to: 'paying', actor: 'anna', reason: 'submitted' });
  return id;
}

export async function readPayout(ledger: Ledger, place: PayoutPlace): Promise<Payout> {
  const { payout } = await ledger.payouts.read(place);
  if (payout === undefined) throw new Error(`there is no payout ${place.runId}-${place.line}`);
  return payout;
}

export function armingOf(payout: Payout, other: Partial<Arming> = {}): Arming {
  return {
    runId: payout.runId,
    line: payout.line,
    version: payout.version,
    rowSeal: payout.seals.row,
    referenceHash: hashReference(payout.row.reference),
    quoteId: payout.quoteId ?? systemRandom.uuid(),
    quoteExpiresAt: 1_900_000_000_000,
    owner: 'worker-1',
    credentials: 'fingerprint',
    dueMs: LIFE_MS,
    exchange: '',

    ...other,
  };
}

/** Arms a payout as it stands; throws when it is refused. */
export async function armPayout(ledger: Ledger, place: PayoutPlace, other: Partial<Arming> = {}): Promise<Payout> {
  const answer = await ledger.payouts.arm(armingOf(await readPayout(ledger, place), other));
  if (!answer.armed) throw new Error(`not armed: ${answer.refusal}`);
  return await readPayout(ledger, place);
}

export async function movePayout(
  ledger: Ledger,
  place: PayoutPlace,
  move: Omit<PayoutMove, 'runId' | 'line' | 'actor' | 'reason'>,
): Promise<MoveAnswer> {
  return await ledger.payouts.move({ runId: place.runId, line: place.line, actor: 'test', reason: '', ...move });
}

/** The ways that payouts really take to a state with a spent quote. */
const WAYS: Readonly<Record<Exclude<PayoutState, 'ready' | 'cancelled' | 'armed'>, readonly PayoutState[]>> = {
  quoted: ['quoted'],
  unknown: ['unknown'],
  held: ['unknown', 'held'],
  accepted: ['accepted'],
  rejected: ['rejected'],
  completed: ['accepted', 'completed'],
  failed: ['accepted', 'failed'],
  returned: ['accepted', 'returned'],
};

/** Arms a ready payout and takes it to a state. */
export async function sendTo(ledger: Ledger, place: PayoutPlace, state: keyof typeof WAYS): Promise<Payout> {
  await armPayout(ledger, place);
  for (const to of WAYS[state]) {
    const { result } = await movePayout(ledger, place, { to, dueMs: LIFE_MS });
    if (result !== 'moved') throw new Error(`no way to ${to}: ${result}`);
  }
  return await readPayout(ledger, place);
}

export async function allRows(ledger: Ledger, runId: string): Promise<(Payout | RefusedRow)[]> {
  const all: (Payout | RefusedRow)[] = [];
  for await (const batch of ledger.runs.rows(runId)) all.push(...batch);
  return all;
}

export async function linesIn(ledger: Ledger, runId: string, state: PayoutState | 'refused'): Promise<number[]> {
  const lines: number[] = [];
  for await (const piece of ledger.runs.linesIn(runId, { state })) lines.push(...piece);
  return lines;
}

type States = Record<PayoutState | 'refused', number[]>;

export interface Count {
  /** Lines by state. */
  readonly lines: States;
  readonly counts: Record<PayoutState | 'refused', number>;
  /** `currency outcome` -> minor units; without those that are nothing. */
  readonly amounts: Map<string, bigint>;
}

/** What the counters and indexes of a run say. */
export async function countersOf(ledger: Ledger, runId: string): Promise<Count> {
  const run = await ledger.runs.read(runId);
  if (run === undefined) throw new Error(`there is no run ${runId}`);
  const lines = emptyStates();
  for (const state of stateNames()) lines[state] = await linesIn(ledger, runId, state);
  const amounts = new Map<string, bigint>();
  for (const [currency, row] of run.amounts) {
    for (const outcome of OUTCOMES) addAmount(amounts, { currency, outcome, minor: row[outcome] });
  }
  return { lines, counts: { ...run.counts }, amounts };
}

/** The same, counted anew from the records. */
export async function recount(ledger: Ledger, runId: string): Promise<Count> {
  const lines = emptyStates();
  const amounts = new Map<string, bigint>();
  for (const row of await allRows(ledger, runId)) {
    const state = 'row' in row ? row.state : 'refused';
    const amount = 'row' in row ? row.row.amount : row.amount;
    lines[state].push(row.line);
    if (amount !== null) addAmount(amounts, { ...amount, outcome: outcomeOf(state) });
  }
  const counts = zeroCounts();
  for (const state of stateNames()) counts[state] = lines[state].length;
  return { lines, counts, amounts };
}

function stateNames(): readonly (PayoutState | 'refused')[] {
  return [...PAYOUT_STATES, 'refused'];
}

function emptyStates(): States {
  return {
    ready: [],
    armed: [],
    quoted: [],
    unknown: [],
    held: [],
    accepted: [],
    rejected: [],
    cancelled: [],
    completed: [],
    failed: [],
    returned: [],
    refused: [],
  };
}

function zeroCounts(): Record<PayoutState | 'refused', number> {
  return {
    ready: 0,
    armed: 0,
    quoted: 0,
    unknown: 0,
    held: 0,
    accepted: 0,
    rejected: 0,
    cancelled: 0,
    completed: 0,
    failed: 0,
    returned: 0,
    refused: 0,
  };
}

function addAmount(
  amounts: Map<string, bigint>,
  { currency, outcome, minor }: { currency: string; outcome: Outcome; minor: bigint },
): void {
  if (minor === 0n) return;
  const key = `${currency} ${outcome}`;
  amounts.set(key, (amounts.get(key) ?? 0n) + minor);
}

/** All that a ledger holds: two equal dumps mean that nothing was written. Hashes and sets have no order of their own. */
export async function dumpOf({ redis, prefix }: Pick<TestLedger, 'redis' | 'prefix'>): Promise<Map<string, string>> {
  const dump = new Map<string, string>();
  for (const key of (await redis.keys(`${prefix}*`)).toSorted()) dump.set(key, await contentOf(redis, key));
  return dump;
}

async function contentOf(redis: Redis, key: string): Promise<string> {
  switch (await redis.type(key)) {
    case 'hash':
      return JSON.stringify(Object.entries(await redis.hgetall(key)).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    case 'set':
      return JSON.stringify((await redis.smembers(key)).toSorted());
    default:
      return (await redis.dumpBuffer(key))?.toString('base64') ?? '';
  }
}
