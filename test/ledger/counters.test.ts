import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { refusedFields } from '../../src/ledger/payouts/record.ts';
import { MOVES } from '../../src/moves.ts';
import { PAYOUT_STATES, type Payout, type PayoutRow, type RefusedRow } from '../../src/payout.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { textOfRecord } from '../support/records.ts';
import { useTestRedis } from '../support/redis.ts';
import {
  allRows,
  armingOf,
  claimRun,
  countersOf,
  DATA_DIR,
  freshRows,
  movePayout,
  newLedger,
  payingRun,
  REMEMBER_MS,
  readPayout,
  recordRows,
  recount,
  type TestLedger,
  useArming,
} from './test-ledger.ts';

const PAYOUTS = 8;
const REFUSED_LINE = 40_000;
const CURRENCIES = ['USD', 'JPY', 'BHD'] as const;

const server = await useTestRedis();
const arming = await useArming(server);

const refusedRow: RefusedRow = {
  line: REFUSED_LINE,
  cells: { amount: '-1' },
  amount: { minor: 77n, currency: 'USD' },
  code: 'E_AMOUNT',
  message: 'not an amount',
};

/** Payouts of several currencies, by source and by destination amount, on lines far apart. */
function mixedRows(): PayoutRow[] {
  return freshRows(PAYOUTS).map((row, index) => {
    const currency = CURRENCIES[index % CURRENCIES.length] ?? 'USD';
    const bySource = index % 2 === 0;
    return {
      ...row,
      line: 2 + index * 4999,
      amount: { minor: 10n ** BigInt(index * 2), currency },
      amountType: bySource ? 'SOURCE_AMOUNT' : 'DESTINATION_AMOUNT',
      sourceCurrency: bySource ? currency : 'EUR',
      destinationCurrency: bySource ? 'EUR' : currency,
    };
  });
}

async function mixedRun(desk: TestLedger, rows: readonly PayoutRow[]): Promise<string> {
  const runId = await claimRun(desk.ledger, rows);
  await recordRows(desk.ledger, runId, rows);
  const { line, amount } = refusedRow;
  const fields = refusedFields(refusedRow);
  await desk.ledger.runs.record(runId, [{ line, state: 'refused', fields, amount, referenceHash: null }], REMEMBER_MS);
  await desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
  return runId;
}

const anyStep = fc.record({
  payout: fc.nat(PAYOUTS - 1),
  act: fc.constantFrom('arm', 'arm', 'move', 'move', 'move', 'move', 'note', 'defer', 'stale', 'drop', 'breach'),
  to: fc.constantFrom(...PAYOUT_STATES),
  quote: fc.nat(3 * PAYOUTS),
  due: fc.option(fc.nat(5000), { nil: undefined }),
});
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

/** Tries one step; true when the ledger says that it wrote the payout, undefined when it does not say. */
async function tryStep(desk: TestLedger, payout: Payout, { act, to, quote, due }: Step): Promise<boolean | undefined> {
  const { ledger } = desk;
  const dueMs = due === undefined ? {} : { dueMs: due };
  if (act === 'arm') {
    const own = payout.quoteId ?? `quote-${quote}`;
    return (await ledger.payouts.arm(armingOf(payout, { quoteId: own }))).armed;
  }
  if (act === 'defer') {
    await ledger.payouts.defer(payout, { ms: due ?? 0, quoteFailed: quote % 2 === 0 });
    return undefined;
  }
  if (act === 'note')
    return (await movePayout(ledger, payout, { values: { lookUps: 1 }, ...dueMs })).result === 'moved';
  if (act === 'stale') {
    return (await movePayout(ledger, payout, { to, version: payout.version - 1, ...dueMs })).result === 'moved';
  }
  if (act === 'breach') return (await movePayout(ledger, payout, { to, breach: true, ...dueMs })).result === 'moved';
  // Arming by a plain move is nobody's way; drops are made as payrun makes them.
  if (to === 'armed') return false;
  if (act === 'drop' && payout.state === 'armed') {
    const move = { to: 'ready', dropQuote: 'not-sent', version: payout.version, ...dueMs } as const;
    return (await movePayout(ledger, payout, move)).result === 'moved';
  }
  const buries = payout.state === 'unknown' && (to === 'ready' || to === 'cancelled');
  const drop = buries ? ({ dropQuote: 'proven-dead' } as const) : {};
  return (await movePayout(ledger, payout, { to, ...drop, ...dueMs })).result === 'moved';
}

const TABLE = new Set(MOVES.map(({ from, to }) => `${from}>${to}`));

/** Steps of a history that are neither a move of the table nor a breach. */
function strangeSteps({ history }: Payout): string[] {
  const steps = history.slice(1).map(({ to }, index) => ({ to, name: `${history[index]?.to}>${to}` }));
  return steps.filter(({ to, name }) => to !== 'held' && !TABLE.has(name)).map(({ name }) => name);
}

test('counters, amounts, indexes, histories and versions stay consistent under thousands of random moves', async () => {
  let written = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 250, maxLength: 250 }), async (steps) => {
      const desk = await newLedger({ redis: server.redis, arming });
      const rows = mixedRows();
      const runId = await mixedRun(desk, rows);
      const seen = new Map<number, Payout>();
      let changes = (await desk.ledger.runs.read(runId))?.changes ?? 0;
      for (const one of steps) {
        const place = { runId, line: rows[one.payout]?.line ?? 0 };
        const before = seen.get(place.line) ?? (await readPayout(desk.ledger, place));
        const isWritten = await tryStep(desk, before, one);
        const after = await readPayout(desk.ledger, place);
        seen.set(place.line, after);
        expect(after.version).toBe(before.version + ((isWritten ?? after.version > before.version) ? 1 : 0));
        const made = after.history.slice(before.history.length);
        expect(after.history.slice(0, before.history.length)).toEqual(before.history);
        expect(made.map(({ to }) => to)).toEqual(after.state === before.state ? [] : [after.state]);
        changes += made.length;
        if (isWritten === true) written++;
      }
      expect(await countersOf(desk.ledger, runId)).toEqual(await recount(desk.ledger, runId));
      const payouts = (await allRows(desk.ledger, runId)).filter((row): row is Payout => 'row' in row);
      expect(payouts.map(({ row, line }) => ({ ...row, line }))).toEqual(rows);
      for (const payout of payouts) {
        expect(payout.history.at(-1)?.to).toBe(payout.state);
        expect(strangeSteps(payout)).toEqual([]);
      }
      expect((await desk.ledger.runs.read(runId))?.changes).toBe(changes);
      expect((await desk.ledger.state.read()).armings).toBe(
        payouts.flatMap(({ history }) => history).filter(({ to }) => to === 'armed').length,
      );
    }),
    { numRuns: 12, endOnFailure: true },
  );
  expect(written).toBeGreaterThan(300);
}, 180_000);

test('the same holds for moves of many payouts at once from two connections', async () => {
  const desk = await newLedger({ redis: server.redis, arming });
  const rows = freshRows(600);
  const runId = await claimRun(desk.ledger, rows);
  await recordRows(desk.ledger, runId, rows);
  await desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
  const places = rows.map(({ line }) => ({ runId, line }));
  await Promise.all(
    places.map(async (place) => desk.ledger.payouts.arm(armingOf(await readPayout(desk.ledger, place)))),
  );
  const tos = ['accepted', 'quoted', 'unknown', 'rejected', 'accepted', 'completed', 'held', 'returned'] as const;
  await Promise.all(
    tos.flatMap((to, round) => places.map((place) => movePayout(desk.ledger, place, { to, dueMs: round }))),
  );
  expect(await countersOf(desk.ledger, runId)).toEqual(await recount(desk.ledger, runId));
  expect((await desk.ledger.runs.read(runId))?.counts.returned).toBe(600);
});

test('rows come back in file order with every field as it was recorded', async () => {
  const desk = await newLedger({ redis: server.redis, arming });
  const rows = mixedRows().map((row, index) => ({
    ...row,
    ...(index % 2 === 0
      ? {}
      : {
          originatorIdentityId: '11111111-2222-4333-8444-aaaaaaaaaaaa',
          sourceCountry: 'US',
          destinationCountry: 'MX',
          payoutCategory: 'BANK',
          payinCategory: 'PRE_FUNDING',
          purposeCode: 'Zahlung für Öl | 7',
          sourceOfCash: 'SALE' as const,
        }),
  }));
  const runId = await mixedRun(desk, rows);
  const all = await allRows(desk.ledger, runId);
  expect(all.map((row) => ('row' in row ? row.row : row))).toEqual(
    [...rows, { ...refusedRow, beneficiaryName: null, originatorName: null }].toSorted((a, b) => a.line - b.line),
  );
  expect(all[0]).toMatchObject({ state: 'ready', version: 1, quoteId: null, attempts: 0, sentAt: null });
  expect(hashReference(rows[0]?.reference ?? '')).toHaveLength(16);
});

test('the record of a payout that went the usual way takes at most 400 bytes', async () => {
  const desk = await newLedger({ redis: server.redis, arming });
  const rows = freshRows(1);
  const runId = await mixedRun(desk, rows);
  const values = {
    sourceAmount: { minor: 100n, currency: 'USD' },
    destinationAmount: { minor: 1800n, currency: 'MXN' },
    rate: '18.123456',
    fees: [{ minor: 5n, currency: 'USD' }],
    quotedAt: 1790000000000,
  };
  const payout = await readPayout(desk.ledger, { runId, line: 2 });
  await desk.ledger.payouts.arm(armingOf(payout, { values }));
  await movePayout(desk.ledger, payout, { to: 'accepted', values: { paymentState: 'EXECUTED' }, dueMs: 1 });
  await movePayout(desk.ledger, payout, { to: 'completed', values: { paymentState: 'COMPLETED' } });
  const text = await textOfRecord({ redis: desk.redis, prefix: desk.prefix, runId, line: 2 });
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(400);
});

test('no row is missed by who reads all rows while payouts move to and fro', async () => {
  const desk = await newLedger({ redis: server.redis, arming });
  const rows = freshRows(20);
  const runId = await payingRun(desk.ledger, rows);
  const reader = await connectRedis({ socket: server.socket }, { name: 'test', kind: 'commands' });
  const { runs } = openLedger({ redis: reader, arming }, { prefix: desk.prefix, dataDirId: DATA_DIR });
  const reading = new AbortController();
  const moving = (async () => {
    while (!reading.signal.aborted) {
      const payouts = await Promise.all(rows.map(({ line }) => readPayout(desk.ledger, { runId, line })));
      await Promise.all(
        payouts.map((payout, index) => desk.ledger.payouts.arm(armingOf(payout, { quoteId: `q-${index}` }))),
      );
      await Promise.all(
        payouts.map((payout) => movePayout(desk.ledger, payout, { to: 'ready', dropQuote: 'not-sent', dueMs: 0 })),
      );
    }
  })();
  const seen: number[] = [];
  for (let round = 0; round < 60; round++) {
    let count = 0;
    for await (const batch of runs.rows(runId)) count += batch.length;
    seen.push(count);
  }
  reading.abort();
  await moving;
  reader.disconnect();
  expect(new Set(seen)).toEqual(new Set([20]));
});
