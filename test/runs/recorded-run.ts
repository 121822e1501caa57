import type { Redis } from 'ioredis';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { refusedFields, rowFields } from '../../src/ledger/payouts/record.ts';
import type { Money } from '../../src/money.ts';
import type { PayoutPlace } from '../../src/payout.ts';
import { type Payout, type PayoutRow, payoutId } from '../../src/payout.ts';
import { ROW } from '../support/payout-row.ts';
import { freshPrefix } from '../support/redis.ts';

const REMEMBER_MS = 86_400_000;
const BENEFICIARY = '3f0c7a52-6b1d-4c8e-9a34-5d2e8b7f1c60';

/** A ledger of its own, in an open season. */
export async function freshLedger(redis: Redis): Promise<Ledger> {
  const ledger = openLedger({ redis, arming: redis }, { prefix: freshPrefix(), dataDirId: 'd1' });
  await ledger.state.open({
    knownInstance: '',
    newInstance: 'i1',
    service: 'sandbox',
    safety: 'test',
    requireMatch: true,
  });
  await ledger.state.enterDir('d1');
  const { server } = await ledger.state.season();
  await ledger.state.compare({ dataDirId: 'd1', server, last: true, json: '[]', peers: ['d1'] });
  return ledger;
}

export function rowAt(line: number): PayoutRow {
  return {
    ...ROW,
    line,
    reference: `INV-${line}`,
    beneficiaryIdentityId: BENEFICIARY,
    amount: { minor: 10_050n, currency: 'USD' },
  };
}

export interface Recording {
  readonly id?: string;
  readonly lines: readonly number[];
  readonly refused?: readonly number[];
}

/** A run that is still being recorded, with a row at each of the lines. */
export async function beginRun(ledger: Ledger, { id = 'r1', lines, refused = [] }: Recording): Promise<string> {
  const amount: Money = { minor: 10_050n, currency: 'USD' };
  await ledger.runs.claim({
    id,
    fileName: `${id}.csv`,
    fileSha256: `sha-${id}`,
    contentHash: `content-${id}`,
    rows: lines.length + refused.length,
    fileTotals: [{ minor: amount.minor * BigInt(lines.length + refused.length), currency: 'USD' }],
    createdBy: 'test',
  });
  const valid = lines.map((line) => {
    const row = rowAt(line);
    const fields = rowFields(row, ledger.seals.row({ runId: id, line }, row, false));
    return { line, state: 'ready' as const, fields, amount, referenceHash: hashReference(row.reference) };
  });
  const others = refused.map((line) => {
    const fields = refusedFields({
      line,
      cells: { reference: `BAD ${line}` },
      amount,
      code: 'E_AMOUNT',
      message: 'no',
    });
    return { line, state: 'refused' as const, fields, amount, referenceHash: null };
  });
  const rows = [...valid, ...others].toSorted((a, b) => a.line - b.line);
  for (let from = 0; from < rows.length; from += 500)
    await ledger.runs.record(id, rows.slice(from, from + 500), REMEMBER_MS);
  const run = await ledger.runs.read(id);
  if (run === undefined) throw new Error(`no run ${id}`);
  await ledger.runs.note(id, { lastLine: String(rows.at(-1)?.line ?? 1), seal: ledger.seals.run(run) });
  return id;
}

/** A run that is being paid. */
export async function recordRun(ledger: Ledger, recording: Recording): Promise<string> {
  const id = await beginRun(ledger, recording);
  await ledger.runs.move(id, { to: 'paying', actor: 'test', reason: 'submitted' });
  return id;
}

export async function payoutAt(ledger: Ledger, place: PayoutPlace): Promise<Payout> {
  const { payout } = await ledger.payouts.read(place);
  if (payout === undefined) throw new Error(`no payout ${payoutId(place)}`);
  return payout;
}

/** Moves a payout along its states; fails when one of the moves is refused. */
export async function movePayout(ledger: Ledger, place: PayoutPlace, ...states: Payout['state'][]): Promise<void> {
  for (const to of states) {
    const answer = await ledger.payouts.move({ ...place, to, actor: 'test', reason: 'test' });
    if (answer.result !== 'moved') throw new Error(`${payoutId(place)} to ${to}: ${answer.result} (${answer.state})`);
  }
}

/** Arms a payout, as the step before its payment request does. */
export async function armPayout(ledger: Ledger, place: PayoutPlace, quoteId: string): Promise<void> {
  const { version, seals, row } = await payoutAt(ledger, place);
  const answer = await ledger.payouts.arm({
    ...place,
    version,
    rowSeal: seals.row,
    referenceHash: hashReference(row.reference),
    quoteId,
    quoteExpiresAt: 1,
    owner: 'test',
    credentials: 'c1',
    dueMs: 60_000,
    exchange: '',
  });
  if (!answer.armed) throw new Error(`${payoutId(place)} was not armed: ${answer.refusal}`);
}

/** Arms a payout for a quote of which it is then proven that it is dead. */
export async function loseQuote(ledger: Ledger, place: PayoutPlace, quoteId: string): Promise<void> {
  await armPayout(ledger, place, quoteId);
  await movePayout(ledger, place, 'unknown');
  const death = { ...place, to: 'ready', dropQuote: 'proven-dead', actor: 'test', reason: 'dead' } as const;
  const { result } = await ledger.payouts.move(death);
  if (result !== 'moved') throw new Error(`${payoutId(place)}: ${result}`);
}
