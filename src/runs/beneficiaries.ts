import type { Ledger } from '../ledger/ledger.ts';
import { type Money, sumMoney } from '../money.ts';
import type { Run } from '../payout.ts';
import { settleReason } from './decide/to-settle.ts';

/** What one beneficiary gets in a run, in one currency of its file. */
export interface BeneficiaryTotal {
  readonly identityId: string;
  readonly rows: number;
  readonly amount: Money;
}

/** The beneficiaries of a run who get most, and what is left for the others. */
export interface Beneficiaries {
  /** In each currency the largest first. */
  readonly top: readonly BeneficiaryTotal[];
  readonly others: number;
  /** Of all of them, however little they get. */
  readonly blocked: readonly BeneficiaryTotal[];
  /** Those to whom this ledger never paid anything, and what goes to them, one entry for each currency. */
  readonly newOnes: { readonly beneficiaries: number; readonly amounts: readonly Money[] };
  /** Held payouts by why they are held, the most frequent first. */
  readonly held: readonly { readonly reason: string; readonly rows: number }[];
}

const TOP_PER_CURRENCY = 20;
const REASONS_MAX = 8;

type Totals = ReadonlyMap<string, { readonly rows: number; readonly minor: bigint }>;

/**
 * Who is to get how much, added up from all payouts of a run that are not cancelled or refused, and who of them is in
 * `blocked`. Each row is read.
 */
export async function beneficiariesOf(
  ledger: Pick<Ledger, 'runs' | 'beneficiaries'>,
  runId: Run['id'],
  blocked: ReadonlySet<string>,
): Promise<Beneficiaries> {
  const totals = new Map<string, Map<string, { rows: number; minor: bigint }>>();
  const held = new Map<string, number>();
  for await (const batch of ledger.runs.rows(runId)) {
    for (const payout of batch) {
      if (!('row' in payout) || payout.state === 'cancelled') continue;
      const { beneficiaryIdentityId, amount } = payout.row;
      const ofCurrency = totals.get(amount.currency) ?? new Map<string, { rows: number; minor: bigint }>();
      const before = ofCurrency.get(beneficiaryIdentityId);
      totals.set(amount.currency, ofCurrency);
      if (payout.state === 'held') countIn(held, settleReason(payout));
      ofCurrency.set(beneficiaryIdentityId, {
        rows: (before?.rows ?? 0) + 1,
        minor: (before?.minor ?? 0n) + amount.minor,
      });
    }
  }
  const currencies = [...totals].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const all = new Set(currencies.flatMap(([, ofCurrency]) => [...ofCurrency.keys()]));
  const top = currencies.flatMap(([currency, ofCurrency]) => topOf(currency, ofCurrency));
  const neverPaid = await ledger.beneficiaries.neverPaid([...all]);
  for (const { identityId } of top) all.delete(identityId);
  const among = (ids: ReadonlySet<string>) =>
    currencies.flatMap(([currency, ofCurrency]) =>
      [...ofCurrency].filter(([id]) => ids.has(id)).map(([id, total]) => totalOf(currency, id, total)),
    );
  return {
    top,
    others: all.size,
    blocked: among(blocked),
    newOnes: { beneficiaries: neverPaid.size, amounts: sumMoney(among(neverPaid).map(({ amount }) => amount)) },
    held: [...held]
      .map(([reason, rows]) => ({ reason, rows }))
      .toSorted((one, other) => other.rows - one.rows)
      .slice(0, REASONS_MAX),
  };
}

function countIn(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function totalOf(
  currency: string,
  identityId: string,
  { rows, minor }: { rows: number; minor: bigint },
): BeneficiaryTotal {
  return { identityId, rows, amount: { minor, currency } };
}

function topOf(currency: string, ofCurrency: Totals): BeneficiaryTotal[] {
  return [...ofCurrency]
    .toSorted(([, one], [, other]) => (one.minor === other.minor ? 0 : one.minor > other.minor ? -1 : 1))
    .slice(0, TOP_PER_CURRENCY)
    .map(([identityId, total]) => totalOf(currency, identityId, total));
}
