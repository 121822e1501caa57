import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashReference } from '../../src/intake/reference-hash.ts';
import { hashRow } from '../../src/intake/row-hash.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { ARM_REFUSALS, type Arming, MOVE_RESULTS, type PayoutMove } from '../../src/ledger/payouts.ts';
import { proposalField, rowFields } from '../../src/ledger/record.ts';
import { PAYOUT_STATES, type Payout, type PayoutState, RUN_STATES } from '../../src/payout.ts';
import { newLedger, type TestLedger } from '../ledger/test-ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { type Dice, openDice } from './dice.ts';
import {
  type ComparedLine,
  compareLines,
  disprove,
  enterDir,
  haltAll,
  holdAll,
  notePeers,
  readSeason,
  releaseHalt,
} from './head.ts';
import { armPayout, deferPayout, holderOfQuote, movePayout, payoutOf, readPayout } from './moves.ts';
import { claimRun, linesIn, moveRun, type RowToRecord, recordRows, runOf, takeFrom } from './runs.ts';
import { entryId, newStore, type Store } from './store.ts';

const OPERATIONS = 100_000;
const OPERATIONS_PER_LEDGER = 1000;
const SEED = 20_260_131;
/** Due times are compared to within this: far more than a ledger's moves take, far less than any step between them. */
const ABOUT_MS = 600_000;
const HOUR_MS = 3_600_000;
const DIRS = ['dir-a', 'dir-b'] as const;
const LINES = [2, 3, 4, 5, 6] as const;

let server: TestRedis;
beforeAll(async () => {
  server = await startTestRedis();
  await teachScripts();
});
afterAll(() => server.stop());

/** Both ledgers, and what was asked of them so far. */
interface Pair {
  readonly dice: Dice;
  readonly goesInCircles: boolean;
  readonly store: Store;
  readonly real: TestLedger;
  readonly other: Ledger;
  readonly answers: { readonly what: string; readonly mine: unknown; readonly theirs: Promise<unknown> }[];
  readonly runs: string[];
  readonly quotes: string[];
}

const now = (): number => Date.now();

test(`the ledger in memory answers ${OPERATIONS} random operations as the scripts in Redis do, and ends with the same records`, async () => {
  let done = 0;
  const words = new Map<string, number>();
  for (let seed = SEED; done < OPERATIONS; seed++) {
    const pair = await openPair(seed);
    for (let here = 0; here < OPERATIONS_PER_LEDGER; ) here += await playSome(pair);
    for (const { what, mine, theirs } of pair.answers) {
      expect(withoutTimes(await theirs), `seed ${seed}: ${what}`).toEqual(withoutTimes(mine));
    }
    await compareRecords(pair, seed);
    done += pair.answers.length;
    for (const { mine } of pair.answers) countWord(words, mine);
  }
  // An answer that never came was never compared.
  const all = [...MOVE_RESULTS, ...ARM_REFUSALS, ...RUN_RESULTS, 'armed', 'compared', 'open', 'changed'];
  const never = all.filter((word) => !UNREACHED.includes(word) && (words.get(word) ?? 0) < 5);
  expect(never, 'answers that never came').toEqual([]);
  console.log(`differential: seed ${SEED}, ${done} operations`);
}, 120_000);

/** A server that does not know a script is sent it again, behind what was asked for after it; so each is sent once before. */
async function teachScripts(): Promise<void> {
  const { ledger } = await newLedger({ redis: server.redis, arming: server.redis });
  const { head, runs, payouts, slices } = ledger;
  const place = { runId: 'none', line: 2 };
  const person = { actor: 'anna', reason: '' };
  await payouts.read(place);
  await payouts.move({ ...place, ...person });
  await payouts.defer(place, { ms: 1, quoteFailed: false });
  await payouts.arm({
    ...place,
    version: 1,
    rowHash: '',
    quoteId: 'q',
    quoteExpiresAt: null,
    owner: '',
    credentials: '',
    dueMs: 1,
    exchange: '',
    fields: {},
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
}

/** Answers that need a second server, or a newer payrun. */
const UNREACHED: readonly string[] = ['not-replicated', 'newer'];
const RUN_RESULTS = ['there', 'forbidden', 'missing', 'open', 'halted', 'season', 'incomplete'] as const;

function countWord(words: Map<string, number>, answer: unknown): void {
  if (typeof answer !== 'object' || answer === null) return;
  const { result, refusal, armed } = answer as { result?: string; refusal?: string; armed?: boolean };
  const word = result ?? refusal ?? (armed === true ? 'armed' : undefined);
  if (word !== undefined) words.set(word, (words.get(word) ?? 0) + 1);
}

async function openPair(seed: number): Promise<Pair> {
  const real = await newLedger({ redis: server.redis, arming: server.redis });
  const { server: name } = await real.ledger.head.season();
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

/** Everything of one kind that is asked for in one turn goes to Redis as one call, in this order. */
async function playSome(pair: Pair): Promise<number> {
  const { dice } = pair;
  const roll = dice.fraction();
  const count = dice.between(1, 40);
  const before = pair.answers.length;
  if (roll < 0.22) repeat(count, () => arm(pair));
  else if (roll < 0.68) repeat(count, () => move(pair));
  else if (roll < 0.76) repeat(count, () => read(pair));
  else if (roll < 0.84) repeat(dice.between(1, 5), () => defer(pair));
  else if (roll < 0.92 && !pair.goesInCircles) repeat(dice.between(1, 3), () => changeRun(pair));
  else if (pair.goesInCircles) repeat(count, () => arm(pair));
  else if (roll < 0.97) await steer(pair);
  else if (roll < 0.985) await changeSeason(pair);
  else repeat(2, () => compare(pair));
  await turn();
  await turn();
  return pair.answers.length - before;
}

function repeat(count: number, play: () => void): void {
  for (let index = 0; index < count; index++) play();
}

/** Commands that were asked for are on their way, in order, on the one connection. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function ask(pair: Pair, what: string, { mine, theirs }: { mine: unknown; theirs: Promise<unknown> }): void {
  theirs.catch(() => {});
  pair.answers.push({ what, mine, theirs });
}

function pickPlace({ dice, runs }: Pair): { runId: string; line: number } {
  return { runId: dice.pick(runs), line: dice.chance(0.02) ? 99 : dice.pick(LINES) };
}

function payoutAt({ store }: Pair, { runId, line }: { runId: string; line: number }): Payout | undefined {
  const entry = store.entries.get(entryId(runId, line));
  return entry === undefined ? undefined : payoutOf(entry);
}

function arm(pair: Pair): void {
  const { dice, store, real, other } = pair;
  const place = pickPlace(pair);
  const payout = payoutAt(pair, place);
  const isTidy = pair.goesInCircles && dice.chance(0.97);
  const old = !isTidy && dice.chance(0.15) && pair.quotes.length > 0 ? dice.pick(pair.quotes) : undefined;
  const quoteId = old ?? (payout?.state === 'quoted' && payout.quoteId !== null ? payout.quoteId : dice.uuid());
  pair.quotes.push(quoteId);
  const arming: Arming = {
    ...place,
    version: (payout?.version ?? 1) + (!isTidy && dice.chance(0.1) ? 1 : 0),
    rowHash: !isTidy && dice.chance(0.03) ? 'other' : (payout?.rowHash ?? ''),
    quoteId,
    quoteExpiresAt: dice.chance(0.2) ? null : 1_900_000_000_000,
    owner: dice.pick(['w1', 'w2']),
    credentials: isTidy ? 'A' : dice.pick(['A', 'A', 'A', 'B']),
    dueMs: dice.between(1, 3) * HOUR_MS,
    exchange: dice.pick(['', 'x-request-id: r1']),
    fields: dice.chance(0.5) ? { qa: '5', ql: '4000', sam: '12345', rt: '17.5', fe: '100 USD' } : {},
  };
  const dataDirId = isTidy || dice.chance(0.85) ? DIRS[0] : DIRS[1];
  const mine = armPayout(store, arming, { dataDirId, sawCounter: 0, now: now() });
  const ledger = dataDirId === DIRS[0] ? real.ledger : other;
  ask(pair, `arm ${JSON.stringify(arming)} from ${dataDirId}`, { mine, theirs: ledger.payouts.arm(arming) });
}

/** Mostly a move that the table might have, with the right quote and version; everything else now and then. */
function move(pair: Pair): void {
  const { dice, store, real } = pair;
  const place = pickPlace(pair);
  const payout = payoutAt(pair, place);
  const to = drawTarget(pair, payout);
  const asked: PayoutMove = {
    ...place,
    actor: dice.pick(['w1', 'anna']),
    reason: dice.pick(['', 'a reason']),
    ...(to === undefined ? {} : { to }),
    ...drawGuards(pair, payout, to),
    ...drawWrites(pair),
  };
  const mine = movePayout(store, asked, now());
  ask(pair, `move ${JSON.stringify(asked)}`, { mine, theirs: real.ledger.payouts.move(asked) });
}

const LIKELY: Readonly<Partial<Record<PayoutState, readonly PayoutState[]>>> = {
  ready: ['held', 'rejected', 'cancelled'],
  armed: ['accepted', 'quoted', 'quoted', 'ready', 'ready', 'rejected', 'unknown', 'unknown'],
  quoted: ['unknown', 'accepted', 'held'],
  unknown: ['accepted', 'ready', 'ready', 'ready', 'held'],
  rejected: ['accepted'],
  held: ['ready', 'ready', 'cancelled', 'accepted', 'rejected'],
  accepted: ['completed', 'failed', 'returned'],
};

/** Payouts that go round in circles come to the limits of armings and quotes. */
const IN_CIRCLES: typeof LIKELY = {
  armed: ['quoted', 'quoted', 'quoted', 'quoted', 'unknown'],
  quoted: ['unknown'],
  unknown: ['ready'],
};

function drawTarget({ dice, goesInCircles }: Pair, payout: Payout | undefined): PayoutState | undefined {
  if (dice.chance(0.2)) return undefined;
  const likely = payout === undefined ? undefined : (goesInCircles ? IN_CIRCLES : LIKELY)[payout.state];
  if (goesInCircles && (likely === undefined || (payout?.state === 'quoted' && dice.chance(0.7)))) return undefined;
  if (goesInCircles && dice.chance(0.97)) return dice.pick(likely ?? []);
  return likely === undefined || dice.chance(0.1) ? dice.pick(PAYOUT_STATES) : dice.pick(likely);
}

function drawGuards(
  { dice, goesInCircles }: Pair,
  payout: Payout | undefined,
  to: PayoutState | undefined,
): Partial<PayoutMove> {
  const version = (payout?.version ?? 1) - (dice.chance(0.1) ? 1 : 0);
  const drops = payout?.state === 'unknown' ? 'proven-dead' : 'not-sent';
  const wantsDrop = (to === 'ready' || to === 'cancelled') && payout !== undefined && payout.quoteId !== null;
  const isBreach = !goesInCircles && dice.chance(0.02);
  return {
    ...(dice.chance(0.6) ? { version } : {}),
    ...(dice.chance(0.4) ? { quoteId: dice.chance(0.9) ? (payout?.quoteId ?? 'none') : dice.uuid() } : {}),
    ...(wantsDrop !== dice.chance(0.08) ? { dropQuote: drops } : {}),
    ...(dice.chance(0.5) ? { cancelledIfRunIs: true } : {}),
    ...(isBreach ? { breach: true, to: 'held' as const } : {}),
    ...(dice.chance(0.03) ? { spentQuoteId: dice.uuid() } : {}),
    ...(dice.chance(0.3) ? { outcomesRemembered: dice.between(1, 4) } : {}),
    ...(dice.chance(0.2) ? { exchange: 'x-correlation-id: c1' } : {}),
  };
}

function drawWrites({ dice, quotes }: Pair): Partial<PayoutMove> {
  const fields: Record<string, string> = {
    ...(dice.chance(0.1) ? { rc: 'E_X', rs: 'why' } : {}),
    ...(dice.chance(0.1) ? { nf: '1900000000000' } : {}),
    ...(dice.chance(0.05) ? { z2: '1' } : {}),
    ...(dice.chance(0.1) ? { lu: String(dice.between(1, 9)) } : {}),
    ...(dice.chance(0.1) ? { ps: dice.pick(['PROCESSING', 'COMPLETED']), dam: '99', fe: '1 USD,2 MXN' } : {}),
    ...(dice.chance(0.05) ? { ok: '1' } : {}),
    ...(dice.chance(0.04) ? { pid: dice.chance(0.5) && quotes.length > 0 ? dice.pick(quotes) : dice.uuid() } : {}),
    ...(dice.chance(0.05)
      ? proposalField({ decision: 'allow', by: 'anna', at: 7, paymentId: '', reason: 'it is fine' })
      : {}),
  };
  return {
    ...(Object.keys(fields).length > 0 ? { fields } : {}),
    ...(dice.chance(0.1) ? { without: dice.pick([['rc', 'rs'], ['nf'], ['rc', 'rs', 'qf'], ['z2']]) } : {}),
    ...(dice.chance(0.6)
      ? { dueMs: dice.chance(0.1) ? ('as-it-is' as const) : dice.between(0, 4) * HOUR_MS + 0.5 }
      : {}),
  };
}

function read(pair: Pair): void {
  const place = pickPlace(pair);
  ask(pair, `read ${place.runId}-${place.line}`, {
    mine: readPayout(pair.store, place, now()),
    theirs: pair.real.ledger.payouts.read(place),
  });
}

function defer(pair: Pair): void {
  const { dice, store, real } = pair;
  const place = pickPlace(pair);
  const how = { ms: dice.between(0, 3) * HOUR_MS, quoteFailed: dice.chance(0.6) };
  ask(pair, `defer ${JSON.stringify(how)}`, {
    mine: deferPayout(store, place, { ...how, now: now() }),
    theirs: real.ledger.payouts.defer(place, how),
  });
}

function changeRun(pair: Pair): void {
  const { dice, store, real } = pair;
  const runId = dice.chance(0.02) ? 'no-run' : dice.pick(pair.runs);
  const to = dice.pick([...RUN_STATES, 'paying', 'paying', 'paying', 'paused'] as const);
  // A run that is over plays no part any more, so few are ended.
  if ((to === 'cancelled' || to === 'finished') && dice.chance(0.85)) return;
  const asked = { to, actor: 'anna', reason: 'because', ...(dice.chance(0.1) ? { from: 'recording' as const } : {}) };
  ask(pair, `run ${runId} ${JSON.stringify(asked)}`, {
    mine: moveRun(store, runId, { move: asked, now: now() }),
    theirs: real.ledger.runs.move(runId, asked),
  });
}

async function steer(pair: Pair): Promise<void> {
  const { dice, store, real } = pair;
  const { head } = real.ledger;
  switch (dice.between(0, 9)) {
    case 0:
      ask(pair, 'halt', { mine: haltAll(store, 'halted'), theirs: head.halt('anna', 'halted') });
      break;
    case 1:
      ask(pair, 'hold', { mine: holdAll(store, HOUR_MS, now()), theirs: head.hold(HOUR_MS) });
      break;
    case 2:
    case 3:
      store.waitUntil = 0;
      ask(pair, 'wait is over', { mine: 1, theirs: real.redis.del(`${real.prefix}:wait`).then(() => 1) });
      break;
    case 4: {
      const capability = dice.pick(['one', 'two']);
      ask(pair, 'disprove', { mine: disprove(store, capability), theirs: head.disprove(capability, 'seen') });
      break;
    }
    default: {
      const actor = dice.pick(['anna', 'ben']);
      // It may take two commands, and nothing is to come between them.
      const theirs = head.release(actor);
      ask(pair, `release by ${actor}`, { mine: releaseHalt(store, actor), theirs });
      await theirs;
    }
  }
}

/** A server's name cannot be changed, so what the ledger keeps of it is. */
async function changeSeason(pair: Pair): Promise<void> {
  const { dice, store, real } = pair;
  if (dice.chance(0.5)) {
    store.season = 'another server';
    await real.redis.hset(real.keys.head, 'season', 'another server');
  }
  if (dice.chance(0.3)) {
    const [noting, peers] = [dice.pick(DIRS), dice.chance(0.8) ? DIRS : []];
    ask(pair, 'note peers', {
      mine: notePeers(store, noting, peers),
      theirs: real.ledger.head.notePeers(noting, peers),
    });
  }
  const dir = dice.pick(DIRS);
  if (dice.chance(0.5) && store.dirs.has(dir)) {
    store.dirs.set(dir, 'another server');
    await real.redis.hset(real.keys.dirs, dir, 'another server');
  } else {
    ask(pair, `enter ${dir}`, { mine: enterDir(store, dir), theirs: real.ledger.head.enterDir(dir) });
  }
  ask(pair, 'season', { mine: readSeason(store), theirs: real.ledger.head.season() });
}

function compare(pair: Pair): void {
  const { dice, store, real } = pair;
  const lines = Array.from({ length: dice.between(0, 3) }, () => drawLine(pair));
  const part = {
    dataDirId: dice.pick(DIRS),
    server: dice.chance(0.95) ? store.server : 'another server',
    last: dice.chance(0.9),
    peers: dice.chance(0.7) ? DIRS : [],
  };
  ask(pair, `compare ${JSON.stringify({ ...part, lines })}`, {
    mine: compareLines(store, { ...part, lines }, now()),
    theirs: real.ledger.head.compare({ ...part, json: JSON.stringify(lines) }),
  });
}

function drawLine(pair: Pair): ComparedLine {
  const { dice, store } = pair;
  const known = pair.quotes.length > 0 && dice.chance(0.3) ? dice.pick(pair.quotes) : undefined;
  const payout = payoutAt(pair, pickPlace(pair));
  return {
    r: dice.chance(0.05) ? 'run-forgotten' : dice.pick(pair.runs),
    l: payout?.line ?? dice.pick(LINES),
    s: dice.chance(0.1) ? 'sha-run-1' : `sha-${dice.hex(4)}`,
    h: dice.chance(0.5) ? hashReference(`INV-${dice.pick(LINES)}`) : dice.hex(16),
    q: known ?? dice.uuid(),
    x: dice.chance(0.2) ? '' : '1900000000000',
    k: dice.between(1, 5),
    c: Math.max(1, store.armings + dice.between(-30, 2)),
    o: 'w9',
    t: '1800000000000',
    f: 'A',
  };
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
  await turn();
  const rememberMs = 24 * HOUR_MS;
  ask(pair, 'record', {
    mine: recordRows(store, id, { rows, rememberMs, now: now() }),
    theirs: real.ledger.runs.record(id, rows, rememberMs),
  });
  await turn();
  const asked = { to: 'paying', actor: 'anna', reason: 'submitted' } as const;
  ask(pair, 'release', {
    mine: moveRun(store, id, { move: asked, now: now() }),
    theirs: real.ledger.runs.move(id, asked),
  });
  await turn();
  pair.runs.push(id);
}

/** References are shared by the runs, so that later rows are suspected duplicates; amounts are in two currencies. */
function recordOf({ dice }: Pair, line: number): RowToRecord {
  const isDestination = dice.chance(0.3);
  const row = {
    line,
    reference: `INV-${line}${dice.pick(['', '', 'b'])}`,
    beneficiaryIdentityId: '3e7a9d24-0b6c-4f18-a52d-9c4be8f1d073',
    originatorIdentityId: null,
    amount: { minor: BigInt(dice.between(100, 9_999_999)), currency: isDestination ? 'MXN' : 'USD' },
    amountType: isDestination ? ('DESTINATION_AMOUNT' as const) : ('SOURCE_AMOUNT' as const),
    sourceCurrency: 'USD',
    destinationCurrency: 'MXN',
    sourceCountry: null,
    destinationCountry: null,
    payoutCategory: null,
    payinCategory: null,
    purposeCode: null,
    sourceOfCash: null,
  };
  const fields = rowFields(row, hashRow(row));
  return { line, state: 'ready', fields, amount: row.amount, referenceHash: hashReference(row.reference), row };
}

/** Every payout, counter, index, due time and claim of both ledgers. */
async function compareRecords(pair: Pair, seed: number): Promise<void> {
  const { store, real } = pair;
  const { ledger, redis, prefix } = real;
  const label = `seed ${seed}`;
  for (const runId of store.runs.keys()) {
    const run = store.runs.get(runId);
    const theirs = await ledger.runs.read(runId);
    expect(withoutTimes({ ...theirs, amounts: sums(theirs?.amounts) }), `${label}: ${runId}`).toEqual(
      withoutTimes({ ...(run && runOf(run)), amounts: sums(run && runOf(run).amounts) }),
    );
    for (const state of PAYOUT_STATES) {
      const lines: number[] = [];
      for await (const piece of ledger.runs.linesIn(runId, { state })) lines.push(...piece);
      expect(lines, `${label}: ${runId} ${state}`).toEqual(linesIn(store, runId, state));
    }
    expect(await ledger.runs.deadQuotes(runId), `${label}: dead quotes`).toEqual(run?.dead);
    const events = (await ledger.runs.events(runId)).map(({ event, actor, reason }) => ({ event, actor, reason }));
    expect(events, `${label}: events`).toEqual(run?.events);
    expectDue(await redis.zrange(real.keys.slices(runId), 0, -1, 'WITHSCORES'), run?.slices ?? new Map(), label);
  }
  for (const entry of store.entries.values()) {
    const { payout } = await ledger.payouts.read(entry);
    expect(withoutTimes(payout), `${label}: ${entryId(entry.runId, entry.line)}`).toEqual(
      withoutTimes(payoutOf(entry)),
    );
  }
  expectDue(await redis.zrange(`${prefix}:due`, 0, -1, 'WITHSCORES'), store.due, label);
  expectDue(await redis.zrange(`${prefix}:tracked`, 0, -1, 'WITHSCORES'), store.tracked, label);
  for (const quoteId of pair.quotes) {
    expect(await ledger.payouts.holderOf(quoteId), `${label}: ${quoteId}`).toBe(holderOfQuote(store, quoteId));
  }
  const head = await ledger.head.read();
  const { halt, releaseBy, armings, refusedMoves, disproved } = store;
  expect(head, `${label}: head`).toMatchObject({ halt, releaseBy, armings, refusedMoves, disproved });
  const due = await ledger.slices.takeDue({ look: 1000, track: 1000 });
  const mine = [...takeFrom(store.due, now()), ...takeFrom(store.tracked, now())];
  expect(due.map(({ runId, line }) => entryId(runId, line)).toSorted(), `${label}: due`).toEqual(mine.toSorted());
}

function sums(amounts: ReadonlyMap<string, Readonly<Record<string, bigint>>> | undefined): string[] {
  return [...(amounts ?? [])]
    .flatMap(([currency, row]) => Object.entries(row).map(([outcome, minor]) => ({ currency, outcome, minor })))
    .filter(({ minor }) => minor !== 0n)
    .map(({ currency, outcome, minor }) => `${currency} ${outcome} ${minor}`)
    .toSorted();
}

function expectDue(flat: readonly string[], mine: ReadonlyMap<string, number>, label: string): void {
  const theirs = new Map<string, number>();
  for (let index = 0; index < flat.length; index += 2) theirs.set(flat[index] ?? '', Number(flat[index + 1]));
  expect([...theirs.keys()].toSorted(), `${label}: due`).toEqual([...mine.keys()].toSorted());
  for (const [id, at] of theirs) expect(Math.abs(at - (mine.get(id) ?? 0)), `${label}: ${id}`).toBeLessThan(ABOUT_MS);
}

const TIMES: readonly string[] = ['now', 'waitMs', 'armedAt', 'sentAt', 'settledAt', 'createdAt', 'finishedAt', 'at'];

/** Lists that come out of a hash. */
const UNORDERED: readonly string[] = ['dataDirIds', 'missing', 'strangers'];

/** What was read from a clock is replaced by whether it is there. */
function withoutTimes(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null) return value ?? null;
  if (Array.isArray(value)) return value.map(withoutTimes);
  const entries = Object.entries(value).map(([name, field]) => {
    if (UNORDERED.includes(name) && Array.isArray(field))
      return [name, field.map(String).toSorted((one, other) => (one < other ? -1 : 1))];
    return [name, TIMES.includes(name) && typeof field === 'number' ? field > 0 : withoutTimes(field)];
  });
  return Object.fromEntries(entries);
}
