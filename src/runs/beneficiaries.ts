import type { Ledger } from '../ledger/ledger.ts';
import type { Money } from '../money.ts';
import type { Run } from '../payout.ts';

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
}

const TOP_PER_CURRENCY = 20;

/** Who is to get how much, added up from all payouts of a run that are not cancelled or refused. Each row is read. */
export async function beneficiariesOf(ledger: Pick<Ledger, 'runs'>, runId: Run['id']): Promise<Beneficiaries> {
  const totals = new Map<string, Map<string, { rows: number; minor: bigint }>>();
  for await (const batch of ledger.runs.rows(runId)) {
    for (const payout of batch) {
      if (!('row' in payout) || payout.state === 'cancelled') continue;
      const { beneficiaryIdentityId, amount } = payout.row;
      const ofCurrency = totals.get(amount.currency) ?? new Map<string, { rows: number; minor: bigint }>();
      const before = ofCurrency.get(beneficiaryIdentityId);
      totals.set(amount.currency, ofCurrency);
      ofCurrency.set(beneficiaryIdentityId, {
        rows: (before?.rows ?? 0) + 1,
        minor: (before?.minor ?? 0n) + amount.minor,
      });
    }
  }
  const currencies = [...totals].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const all = new Set(currencies.flatMap(([, ofCurrency]) => [...ofCurrency.keys()]));
  const top = currencies.flatMap(([currency, ofCurrency]) => topOf(currency, ofCurrency));
  for (const { identityId } of top) all.delete(identityId);
  return { top, others: all.size };
}

function topOf(currency: string, ofCurrency: ReadonlyMap<string, { rows: number; minor: bigint }>): BeneficiaryTotal[] {
  return [...ofCurrency]
    .toSorted(([, one], [, other]) => (one.minor === other.minor ? 0 : one.minor > other.minor ? -1 : 1))
    .slice(0, TOP_PER_CURRENCY)
    .map(([identityId, { rows, minor }]) => ({ identityId, rows, amount: { minor, currency } }));
}
