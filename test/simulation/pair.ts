import { hashReference } from '../../src/intake/row/reference-hash.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { rowFields } from '../../src/ledger/payouts/record.ts';
import type { RowRecord } from '../../src/ledger/runs/recording.ts';
import type { Payout, PayoutRow } from '../../src/payout.ts';
import { newLedger, type TestLedger } from '../ledger/test-ledger.ts';
import { ROW } from '../support/payout-row.ts';
import type { TestRedis } from '../support/redis.ts';
import { type Dice, openDice } from './dice.ts';
import { payoutOf } from './read-payout.ts';
import { claimRun, moveRun, recordRows } from './runs.ts';
import { entryId, newStore, type Store } from './store.ts';

/* A ledger in memory beside a real one: what is asked of either is asked of both. */

export const HOUR_MS = 3_600_000;
export const DIRS = ['dir-a', 'dir-b', 'dir-c', 'dir-d'] as const;
export const BENEFICIARY = '3e7a9d24-0b6c-4f18-a52d-9c4be8f1d073';
export const LINES = [2, 3, 4, 5, 6] as const;

/** Both ledgers, and what was asked of them so far. */
export interface Pair {
  readonly dice: Dice;
  readonly goesInCircles: boolean;
  readonly store: Store;
  readonly real: TestLedger;
  readonly other: Ledger;
  readonly answers: { readonly what: string; readonly mine: unknown; readonly theirs: Promise<unknown> }[];
  readonly runs: string[];
  readonly quotes: string[];
}

export const now = (): number => Date.now();

/** A server that does not know a script is sent it again, behind what was asked for after it; so each is sent once before. */
export async function teachScripts(server: TestRedis): Promise<void> {
  const { ledger } = await newLedger({ redis: server.redis, arming: server.redis });
  const { state: head, runs, payouts, slices, recovery, approvals } = ledger;
  const place = { runId: 'none', line: 2 };
  const person = { actor: 'anna', reason: '' };
  await payouts.read(place);
  await payouts.move({ ...place, ...person });
  await payouts.defer(place, { ms: 1, quoteFailed: false });
  await payouts.arm({
    ...place,
    version: 1,
    rowSeal: '',
    referenceHash: '',
    quoteId: 'q',
    quoteExpiresAt: null,
    owner: '',
    credentials: '',
    dueMs: 1,
    exchange: '',
  });
  await runs.move('none', { to: 'paying', ...person });
  await runs.record('none', [], 1);
  await runs.claim({
    id: 'r',
    fileName: '',
    fileSha256: 's',
    contentHash: 'c',
    rows: 0,
    fileTotals: [],
    createdBy: '',
  });
  await head.halt('anna', '');
  await head.hold(1);
  await head.disprove('one', '');
  await slices.takeDue({ look: 1, track: 1 });
  await recovery.writeOff('none', 'anna');
  await recovery.forgetDirs();
  await recovery.restoreRun({ id: 'none', fileSha256: '', contentHash: '' });
  await approvals.block('nobody', { by: 'anna', reason: '' });
}

export async function openPair(server: TestRedis, seed: number): Promise<Pair> {
  const real = await newLedger({ redis: server.redis, arming: server.redis });
  const { server: name } = await real.ledger.state.season();
  const store = newStore(name);
  store.dirs.set(DIRS[0], name);
  store.peers.set(DIRS[0], []);
  const pair: Pair = {
    dice: openDice(seed),
    goesInCircles: seed % 4 === 0,
    store,
    real,
    other: real.in(DIRS[1]),
    answers: [],
    runs: [],
    quotes: [],
  };
  for (const id of ['run-1', 'run-2']) await submitRun(pair, id, LINES);
  await submitRun(pair, 'run-3', LINES.slice(0, 2));
  pair.runs.push('run-1', 'run-2');
  return pair;
}

/** Commands that were asked for are on their way, in order, on the one connection. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** What was asked for is answered: an operation of the ledger may be several calls. */
export async function settled(pair: Pair): Promise<void> {
  await turn();
  await Promise.allSettled(pair.answers.map(({ theirs }) => theirs));
}

export function ask(pair: Pair, what: string, { mine, theirs }: { mine: unknown; theirs: Promise<unknown> }): void {
  theirs.catch(() => {});
  pair.answers.push({ what, mine, theirs });
}

export function pickPlace({ dice, runs }: Pair): { runId: string; line: number } {
  return { runId: dice.pick(runs), line: dice.chance(0.02) ? 99 : dice.pick(LINES) };
}

export function payoutAt({ store, real }: Pair, { runId, line }: { runId: string; line: number }): Payout | undefined {
  const entry = store.entries.get(entryId(runId, line));
  return entry === undefined ? undefined : payoutOf(entry, real.ledger.seals);
}

/** A run of which these lines are recorded, all of them or not. */
async function submitRun(pair: Pair, id: string, lines: readonly number[]): Promise<void> {
  const { real, store } = pair;
  const claim = {
    id,
    fileName: 'payouts.csv',
    fileSha256: `sha-${id}`,
    contentHash: `content-${id}`,
    rows: LINES.length,
    fileTotals: [],
    createdBy: 'anna',
  };
  const rows = lines.map((line) => recordOf(pair, line));
  ask(pair, 'claim', { mine: claimRun(store, claim, now()), theirs: real.ledger.runs.claim(claim) });
  await settled(pair);
  const rememberMs = 24 * HOUR_MS;
  ask(pair, 'record', {
    mine: recordRows(store, id, { rows, rememberMs, now: now() }),
    theirs: real.ledger.runs.record(id, rows, rememberMs),
  });
  await settled(pair);
  const asked = { to: 'paying', actor: 'anna', reason: 'submitted' } as const;
  ask(pair, 'release', {
    mine: moveRun(store, id, { move: asked, now: now() }),
    theirs: real.ledger.runs.move(id, asked),
  });
  await settled(pair);
  pair.runs.push(id);
}

/** References are shared by the runs, so that later rows are suspected duplicates; amounts are in two currencies. */
function recordOf({ dice }: Pair, line: number): RowRecord {
  const isDestination = dice.chance(0.3);
  const row: PayoutRow = {
    ...ROW,
    line,
    reference: `INV-${line}${dice.pick(['', '', 'b'])}`,
    beneficiaryIdentityId: BENEFICIARY,
    amount: { minor: BigInt(dice.between(100, 9_999_999)), currency: isDestination ? 'MXN' : 'USD' },
    amountType: isDestination ? 'DESTINATION_AMOUNT' : 'SOURCE_AMOUNT',
  };
  const fields = rowFields(row, 'seal');
  return { line, state: 'ready', fields, amount: row.amount, referenceHash: hashReference(row.reference) };
}
