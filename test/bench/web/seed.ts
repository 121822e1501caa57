import { createHash } from 'node:crypto';
import type { App } from '../../../src/app.ts';
import { hashReference } from '../../../src/intake/row/reference-hash.ts';
import type { Arming, MoveAnswer } from '../../../src/ledger/payouts/acts.ts';
import { rowFields } from '../../../src/ledger/payouts/record.ts';
import { type PayoutRow, payoutId } from '../../../src/payout.ts';
import { doCountersTie } from '../../../src/runs/progress.ts';
import { ROW } from '../../support/payout-row.ts';

const RUNS_AT_A_TIME = 8;
const FIRST_LINE = 2;
const DAY_MS = 86_400_000;
const ARM_TRIES_MAX = 10;
const ACTOR = 'seed';

/** So many runs of so many rows each, all of them paid, by the ledger's own functions, move by move. */
export async function seedRuns(app: App, { runs, rows }: { runs: number; rows: number }): Promise<void> {
  let next = 0;
  const seedSome = async (): Promise<void> => {
    for (let place = next++; place < runs; place = next++) await seedRun(app, place, rows);
  };
  await Promise.all(Array.from({ length: RUNS_AT_A_TIME }, seedSome));
  await requireWhole(app, { place: runs - 1, rows });
}

/** What was seeded is what a run leaves that was paid. */
async function requireWhole({ ledger }: App, { place, rows }: { place: number; rows: number }): Promise<void> {
  const runId = runIdOf(place);
  const run = await ledger.runs.read(runId);
  if (run?.state !== 'finished' || run.counts.completed !== rows || !doCountersTie(run))
    throw new Error(`run ${runId} is not whole`);
  for (const row of rowsOf(place, rows)) {
    const { payout } = await ledger.payouts.read({ runId, line: row.line });
    const holder = await ledger.payouts.holderOf(quoteIdOf(place, row.line));
    if (
      payout?.state !== 'completed' ||
      JSON.stringify(rowFields(payout.row, '')) !== JSON.stringify(rowFields(row, '')) ||
      holder !== payoutId(payout)
    )
      throw new Error(`line ${row.line} of run ${runId} is not whole`);
  }
}

async function seedRun({ ledger }: App, place: number, count: number): Promise<void> {
  const rows = rowsOf(place, count);
  const fileSha256 = fileHashOf(place);
  const minor = rows.reduce((sum, { amount }) => sum + amount.minor, 0n);
  const runId = runIdOf(place);
  const { result } = await ledger.runs.claim({
    id: runId,
    fileName: fileNameOf(place),
    fileSha256,
    contentHash: fileSha256,
    rows: count,
    fileTotals: [{ minor, currency: 'USD' }],
    createdBy: makerOf(place),
  });
  if (result !== 'new') throw new Error(`run ${runId} was not claimed: ${result}`);
  const records = rows.map((row) => ({
    line: row.line,
    state: 'ready' as const,
    fields: rowFields(row, ledger.seals.row({ runId, line: row.line }, row, false)),
    amount: row.amount,
    referenceHash: hashReference(row.reference),
  }));
  await ledger.runs.record(runId, records, DAY_MS);
  const columns = 'reference beneficiaryIdentityId amount sourceCurrency destinationCurrency';
  await ledger.runs.note(runId, { lastLine: String(count + 1), currencies: 'MXN USD', columns });
  await ledger.runs.move(runId, { to: 'paying', actor: ACTOR, reason: 'submitted' });
  await Promise.all(rows.map((row) => payRow(ledger, { runId, quoteId: quoteIdOf(place, row.line) }, row)));
  const { result: ended } = await ledger.runs.move(runId, { to: 'finished', actor: ACTOR, reason: 'all was paid' });
  if (ended !== 'moved') throw new Error(`run ${runId} did not finish: ${ended}`);
  await ledger.runs.leave(runId);
}

async function payRow(
  { payouts, seals }: App['ledger'],
  { runId, quoteId }: { runId: string; quoteId: string },
  row: PayoutRow,
): Promise<void> {
  const place = { runId, line: row.line };
  await armRow(payouts, {
    ...place,
    version: 1,
    rowSeal: seals.row(place, row, false),
    referenceHash: hashReference(row.reference),
    quoteId,
    quoteExpiresAt: null,
    owner: ACTOR,
    credentials: ACTOR,
    dueMs: DAY_MS,
    exchange: '',
    values: {
      sourceAmount: { minor: row.amount.minor, currency: 'USD' },
      destinationAmount: { minor: row.amount.minor * 17n, currency: 'MXN' },
      rate: '17',
      quoteLifeMs: 20000,
    },
  });
  const move = { ...place, quoteId, actor: ACTOR, reason: '' };
  requireMoved(await payouts.move({ ...move, to: 'accepted', values: { paymentState: 'PENDING' } }));
  requireMoved(await payouts.move({ ...move, to: 'completed', values: { paymentState: 'COMPLETED' } }));
}

/** An arming that was not answered in time may have been carried out all the same. */
async function armRow(payouts: App['ledger']['payouts'], arming: Arming): Promise<void> {
  for (let tries = 0; tries < ARM_TRIES_MAX; tries++) {
    const answer = await payouts.arm(arming).catch(() => null);
    if (answer?.armed === true || (tries > 0 && answer?.armed === false && answer.refusal === 'changed')) return;
    if (answer !== null) throw new Error(`line ${arming.line} of ${arming.runId} was not armed: ${answer.refusal}`);
  }
  throw new Error(`line ${arming.line} of ${arming.runId}: no arming was answered`);
}

function requireMoved({ result }: MoveAnswer): void {
  if (result !== 'moved') throw new Error(`a payout did not move: ${result}`);
}

const runIdOf = (place: number): string => `seed-${String(place).padStart(6, '0')}`;
const fileNameOf = (place: number): string => `payouts-${place}.csv`;
const fileHashOf = (place: number): string => createHash('sha256').update(`file ${place}`).digest('hex');
const makerOf = (place: number): string => `maker-${place % 10}`;
const quoteIdOf = (place: number, line: number): string => idOf(`quote ${place} ${line}`);

function rowsOf(place: number, count: number): PayoutRow[] {
  return Array.from({ length: count }, (_, at) => rowOf(place, FIRST_LINE + at));
}

function rowOf(place: number, line: number): PayoutRow {
  return {
    ...ROW,
    line,
    reference: `SEED-${place}-${line}`,
    beneficiaryIdentityId: idOf(`beneficiary ${line}`),
    amount: { minor: BigInt(1000 + line), currency: 'USD' },
  };
}

function idOf(what: string): string {
  const hex = createHash('sha256').update(what).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
