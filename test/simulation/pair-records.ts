import { expect } from 'vitest';
import { PAYOUT_STATES } from '../../src/payout.ts';
import { dueOf } from '../support/records.ts';
import { holderOfQuote } from './commit.ts';
import { now, type Pair } from './pair.ts';
import { payoutOf } from './read-payout.ts';
import { linesIn, runOf, takeFrom } from './runs.ts';
import { entryId, formerQuotesOf } from './store.ts';

/** Due times are compared to within this: far more than a ledger's moves take, far less than any step between them. */
const ABOUT_MS = 600_000;

/** Every payout, counter, index, due time and claim of both ledgers. */
export async function compareRecords(pair: Pair, seed: number): Promise<void> {
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
    // A move that was decided anew comes after those that were asked for beside it.
    const former = (await ledger.runs.formerQuotes(runId)).map((quote) => JSON.stringify(quote));
    const mine = formerQuotesOf(run).map((quote) => JSON.stringify(quote));
    expect(former.toSorted(), `${label}: former quotes`).toEqual(mine.toSorted());
    const events = (await ledger.runs.events(runId)).map(({ event, actor, reason }) => ({ event, actor, reason }));
    expect(events, `${label}: events`).toEqual(run?.events);
    expectDue(await redis.zrange(real.keys.slices(runId), 0, -1, 'WITHSCORES'), run?.slices ?? new Map(), label);
  }
  for (const entry of store.entries.values()) {
    const { payout } = await ledger.payouts.read(entry);
    const id = entryId(entry.runId, entry.line);
    expect(withoutTimes(payout), `${label}: ${id}`).toEqual(withoutTimes(payoutOf(entry, ledger.seals)));
    const due = await dueOf({ redis, prefix, runId: entry.runId, line: entry.line });
    const mine = store.due.get(id) ?? store.tracked.get(id) ?? null;
    expect(due === null, `${label}: due ${id} ${due} ${mine}`).toBe(mine === null);
    if (due !== null) expect(Math.abs(due - (mine ?? 0)), `${label}: due ${id}`).toBeLessThan(ABOUT_MS);
  }
  for (const quoteId of pair.quotes) {
    expect(await ledger.payouts.holderOf(quoteId), `${label}: ${quoteId}`).toBe(holderOfQuote(store, quoteId));
  }
  const head = await ledger.state.read();
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

const TIMES: readonly string[] = [
  'now',
  'waitMs',
  'armedAt',
  'sentAt',
  'settledAt',
  'createdAt',
  'recordedAt',
  'finishedAt',
  'at',
];

/** Lists that come out of a hash. */
const UNORDERED: readonly string[] = ['dataDirIds', 'missing', 'strangers'];

/** What was read from a clock is replaced by whether it is there. */
export function withoutTimes(value: unknown): unknown {
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
