import type { Ledger } from '../ledger/ledger.ts';
import type { Money } from '../money.ts';
import type { PayoutRow, Run } from '../payout.ts';
import { sealFinding } from './safety/seals.ts';
import { refuseFinding } from './safety/shown-seals.ts';

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

type OfCurrency = Map<string, { readonly rows: number; readonly minor: bigint }>;
type Totals = Map<string, OfCurrency>;

/**
 * Who is to get how much, added up from all payouts of a run that are not cancelled or refused. Each row is read and judged:
 * throws a Refusal (exit 2) when the run, its approvals or one of its rows is not as payrun wrote it, and halts everything.
 */
export async function beneficiariesOf(deps: { readonly ledger: Ledger }, run: Run): Promise<Beneficiaries> {
  const totals: Totals = new Map();
  const finding = await sealFinding(deps, run, (rows) => {
    for (const payout of rows) if ('row' in payout && payout.state !== 'cancelled') addTo(totals, payout.row);
  });
  await refuseFinding(deps, finding);
  const currencies = [...totals].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const all = new Set(currencies.flatMap(([, ofCurrency]) => [...ofCurrency.keys()]));
  const top = currencies.flatMap(([currency, ofCurrency]) => topOf(currency, ofCurrency));
  for (const { identityId } of top) all.delete(identityId);
  return { top, others: all.size };
}

function addTo(totals: Totals, { beneficiaryIdentityId, amount }: PayoutRow): void {
  const ofCurrency: OfCurrency = totals.get(amount.currency) ?? new Map();
  const before = ofCurrency.get(beneficiaryIdentityId);
  totals.set(amount.currency, ofCurrency);
  ofCurrency.set(beneficiaryIdentityId, {
    rows: (before?.rows ?? 0) + 1,
    minor: (before?.minor ?? 0n) + amount.minor,
  });
}

function topOf(currency: string, ofCurrency: OfCurrency): BeneficiaryTotal[] {
  return [...ofCurrency]
    .toSorted(([, one], [, other]) => (one.minor === other.minor ? 0 : one.minor > other.minor ? -1 : 1))
    .slice(0, TOP_PER_CURRENCY)
    .map(([identityId, { rows, minor }]) => ({ identityId, rows, amount: { minor, currency } }));
}
