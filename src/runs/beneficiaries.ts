import { openTally, type Tally } from '../intake/tally.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type Money, sumMoney } from '../money.ts';
import type { Payout, Run } from '../payout.ts';
import { settleReason } from './decide/to-settle.ts';
import { type Largest, openLargest } from './hand-in/largest.ts';
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
  /** Of all of them, however little they get. */
  readonly blocked: readonly BeneficiaryTotal[];
  /** Those to whom this ledger never paid anything, and what goes to them, one entry for each currency. */
  readonly newOnes: { readonly beneficiaries: number; readonly amounts: readonly Money[] };
  /** Held payouts by why they are held, the most frequent first, with their sums. */
  readonly held: readonly { readonly reason: string; readonly rows: number; readonly amounts: readonly Money[] }[];
  /** What is paid when its turn comes: payouts that are not held, to nobody who is blocked. */
  readonly pays: { readonly rows: number; readonly amounts: readonly Money[] };
  /** The largest payouts of each currency, held ones too. */
  readonly largest: readonly Payout[];
}

const TOP_PER_CURRENCY = 20;
const LARGEST_PER_CURRENCY = 10;

type OfCurrency = Map<string, { readonly rows: number; readonly minor: bigint }>;
interface Totals {
  readonly currencies: Map<string, OfCurrency>;
  readonly held: Map<string, Counted>;
  readonly pays: Counted;
  readonly largest: Largest<{ readonly amount: Money; readonly payout: Payout }>;
}

interface Counted {
  rows: number;
  readonly tally: Tally;
}

function nothing(): Counted {
  return { rows: 0, tally: openTally() };
}

/**
 * Who is to get how much, added up from all payouts of a run that are not cancelled or refused, and who of them is in
 * `blocked`. Each row is read and judged: throws a Refusal when the run, its approvals or one of its rows is not as
 * payrun wrote it, and halts everything.
 */
export async function beneficiariesOf(
  deps: { readonly ledger: Ledger },
  run: Run,
  blocked: ReadonlySet<string>,
): Promise<Beneficiaries> {
  const largest = openLargest<{ amount: Money; payout: Payout }>(LARGEST_PER_CURRENCY);
  const totals: Totals = { currencies: new Map(), held: new Map(), pays: nothing(), largest };
  const { held, pays } = totals;
  const finding = await sealFinding(deps, run, (rows) => {
    for (const payout of rows) if ('row' in payout && payout.state !== 'cancelled') addTo(totals, payout, blocked);
  });
  await refuseFinding(deps, finding);
  const currencies = [...totals.currencies].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const all = new Set(currencies.flatMap(([, ofCurrency]) => [...ofCurrency.keys()]));
  const top = currencies.flatMap(([currency, ofCurrency]) => topOf(currency, ofCurrency));
  const neverPaid = await deps.ledger.beneficiaries.neverPaid([...all]);
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
      .map(([reason, { rows, tally }]) => ({ reason, rows, amounts: tally.totals() }))
      .toSorted((one, other) => other.rows - one.rows),
    pays: { rows: pays.rows, amounts: pays.tally.totals() },
    largest: largest.result().map(({ payout }) => payout),
  };
}

function addTo({ currencies, held, pays, largest }: Totals, payout: Payout, blocked: ReadonlySet<string>): void {
  const { beneficiaryIdentityId, amount } = payout.row;
  const ofCurrency: OfCurrency = currencies.get(amount.currency) ?? new Map();
  const before = ofCurrency.get(beneficiaryIdentityId);
  currencies.set(amount.currency, ofCurrency);
  ofCurrency.set(beneficiaryIdentityId, {
    rows: (before?.rows ?? 0) + 1,
    minor: (before?.minor ?? 0n) + amount.minor,
  });
  largest.add({ amount, payout });
  const isHeld = payout.state === 'held';
  if (!isHeld && blocked.has(beneficiaryIdentityId)) return;
  const counted = isHeld ? (held.get(settleReason(payout)) ?? nothing()) : pays;
  if (isHeld) held.set(settleReason(payout), counted);
  counted.rows += 1;
  counted.tally.add(amount);
}

function totalOf(
  currency: string,
  identityId: string,
  { rows, minor }: { rows: number; minor: bigint },
): BeneficiaryTotal {
  return { identityId, rows, amount: { minor, currency } };
}

function topOf(currency: string, ofCurrency: OfCurrency): BeneficiaryTotal[] {
  return [...ofCurrency]
    .toSorted(([, one], [, other]) => (one.minor === other.minor ? 0 : one.minor > other.minor ? -1 : 1))
    .slice(0, TOP_PER_CURRENCY)
    .map(([identityId, total]) => totalOf(currency, identityId, total));
}
