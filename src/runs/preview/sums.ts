import { addMoney, type FundsNeeded, type Money, minorRoundedUp } from '../../money.ts';
import type { PayoutRow } from '../../payout.ts';
import { type Corridor, type CorridorRows, corridorKey, corridorOf } from './corridor.ts';
import { type CostBasis, costBasisOf, type QuotedRow } from './cost-basis.ts';
import { estimateTotal, type Point, rangeOf } from './estimate.ts';
import type { Quoting, UnquotedRow } from './quotes.ts';

/** What a corridor's rows come to by their quotes. Money is null where no quote shows it. */
export interface CorridorPreview extends Corridor {
  /** As `corridorKey` has it. */
  readonly key: string;
  /** Valid rows of the file, and their amounts. */
  readonly rows: number;
  readonly amount: Money;
  /** Rows with a usable quote, and rows for which the service gave none. */
  readonly quoted: number;
  readonly unquoted: number;
  /** Rows that would be paid: all but those that would be held or rejected. Those not asked for count as payable. */
  readonly payable: number;
  /** Whether the figures below are estimated from a part of the payable rows; else each has its quote, and they are sums. */
  readonly isEstimate: boolean;
  readonly source: Money | null;
  readonly destination: Money | null;
  /** Fees and taxes, an entry for each currency that the service names; null without a quote. */
  readonly fees: readonly Money[] | null;
  /** Plain decimals, as the service puts them. */
  readonly rates: { readonly lowest: string; readonly highest: string } | null;
  readonly cost: CostBasis | null;
}

/** What arrives in one currency, as the quotes' destination amounts have it. */
export interface Arriving {
  readonly currency: string;
  readonly amount: bigint;
  readonly isEstimate: boolean;
}

/** One entry for each corridor, in alphabetic order. */
export function previewCorridors(corridors: readonly CorridorRows[], quoting: Quoting): CorridorPreview[] {
  const quoted = grouped(quoting.quoted);
  const unquoted = grouped(quoting.unquoted);
  const previews = corridors.map((rows) => {
    const key = corridorKey(rows.corridor);
    return previewCorridor(rows, quoted.get(key) ?? [], unquoted.get(key) ?? []);
  });
  return previews.toSorted((one, other) => (one.key < other.key ? -1 : 1));
}

function grouped<Item extends { readonly row: PayoutRow }>(items: readonly Item[]): ReadonlyMap<string, Item[]> {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = corridorKey(corridorOf(item.row));
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

function previewCorridor(
  { corridor, rows, amount }: CorridorRows,
  quoted: readonly QuotedRow[],
  unquoted: readonly UnquotedRow[],
): CorridorPreview {
  const { sourceCurrency, destinationCurrency, amountType } = corridor;
  const refused = unquoted.filter(({ outcome }) => outcome !== 'waiting');
  const all = { rows: rows - refused.length, amount: refused.reduce((left, one) => left - ownSide(one), amount) };
  const total = (currency: string, valueOf: (quoted: QuotedRow) => bigint | undefined): Money | null => {
    const points = quoted.flatMap((one): Point[] => {
      const value = valueOf(one);
      return value === undefined ? [] : [{ amount: one.row.amount.minor, value }];
    });
    const minor = estimateTotal(points, all);
    return minor === undefined ? null : { minor, currency };
  };
  const totalFees = (currency: string): Money | null => {
    const finest = finestFee(quoted, currency);
    const sum = total(currency, ({ quote }) => addMoney(finest, feesIn(quote, currency)).minor);
    return sum && { ...finest, minor: sum.minor };
  };
  const isSource = amountType === 'SOURCE_AMOUNT';
  const otherSide = ({ quote }: QuotedRow): Money | null => (isSource ? quote.destinationAmount : quote.sourceAmount);
  const currencies = new Set(quoted.flatMap(({ quote }) => quote.fees.map(({ currency }) => currency)));
  return {
    ...corridor,
    key: corridorKey(corridor),
    rows,
    amount: { minor: amount, currency: isSource ? sourceCurrency : destinationCurrency },
    quoted: quoted.length,
    unquoted: unquoted.length,
    payable: all.rows,
    isEstimate: quoted.filter((one) => otherSide(one) !== null).length < all.rows,
    source: total(sourceCurrency, isSource ? ownSide : (one) => otherSide(one)?.minor),
    destination: total(destinationCurrency, isSource ? (one) => otherSide(one)?.minor : ownSide),
    fees: quoted.length === 0 ? null : [...currencies].toSorted().flatMap((currency) => totalFees(currency) ?? []),
    rates: rangeOf(quoted.flatMap(({ quote }) => quote.rate ?? [])),
    cost: costBasisOf(quoted),
  };
}

function ownSide({ row }: { row: PayoutRow }): bigint {
  return row.amount.minor;
}

function feesIn({ fees }: QuotedRow['quote'], currency: string): Money {
  const nothing: Money = { minor: 0n, currency };
  return fees.reduce((sum, fee) => (fee.currency === currency ? addMoney(sum, fee) : sum), nothing);
}

/** Nothing, with as many digits as any fee in the currency has: added to one, it makes all of them alike. */
function finestFee(quoted: readonly QuotedRow[], currency: string): Money {
  const sums = quoted.map(({ quote }) => addMoney(feesIn(quote, currency), { minor: 0n, currency }));
  return { ...sums.reduce(addMoney, { minor: 0n, currency }), minor: 0n };
}

/** In alphabetic order of currencies; a currency in which only fees are named has an entry too, as in a run's booking. */
export function fundsNeeded(corridors: readonly CorridorPreview[]): FundsNeeded[] {
  const parts = corridors.flatMap(({ source, fees, isEstimate }) => [
    ...(source === null ? [] : [{ currency: source.currency, amount: source.minor, fees: 0n, isEstimate }]),
    ...(fees ?? []).map((fee) => ({ currency: fee.currency, amount: 0n, fees: minorRoundedUp(fee), isEstimate })),
  ]);
  return perCurrency(parts, (one, other) => ({
    currency: one.currency,
    amount: one.amount + other.amount,
    fees: one.fees + other.fees,
    isEstimate: one.isEstimate || other.isEstimate,
  }));
}

/** In alphabetic order of currencies. */
export function arriving(corridors: readonly CorridorPreview[]): Arriving[] {
  const parts = corridors.flatMap(({ destination, isEstimate }) =>
    destination === null ? [] : [{ currency: destination.currency, amount: destination.minor, isEstimate }],
  );
  return perCurrency(parts, (one, other) => ({
    currency: one.currency,
    amount: one.amount + other.amount,
    isEstimate: one.isEstimate || other.isEstimate,
  }));
}

function perCurrency<Part extends { readonly currency: string }>(
  parts: readonly Part[],
  join: (one: Part, other: Part) => Part,
): Part[] {
  const sums = new Map<string, Part>();
  for (const part of parts) {
    const sum = sums.get(part.currency);
    sums.set(part.currency, sum === undefined ? part : join(sum, part));
  }
  return [...sums.values()].toSorted((one, other) => (one.currency < other.currency ? -1 : 1));
}

/** Payable rows of which nothing can be said: those of corridors of which no quote shows both amounts. */
export function rowsUnpriced(corridors: readonly CorridorPreview[]): number {
  return corridors
    .filter(({ source, destination }) => source === null || destination === null)
    .reduce((sum, { payable }) => sum + payable, 0);
}
