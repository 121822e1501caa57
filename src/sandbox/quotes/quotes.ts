import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { rfc3339 } from '../../clock.ts';
import { AMOUNT_TYPES } from '../../payout.ts';
import type { Switches } from '../faults/switches.ts';
import { moneyRecord, openJournal } from '../journal.ts';
import { type Fee, totalOf, wireNumber } from './rates.ts';

export const feeRecord = z.object({ name: z.string(), description: z.string(), amount: moneyRecord });

const quoteRecord = z.object({
  quoteId: z.string(),
  /** The credential that asked for it. */
  clientId: z.string(),
  amountType: z.enum(AMOUNT_TYPES),
  source: moneyRecord,
  destination: moneyRecord,
  rate: z.string(),
  fees: z.array(feeRecord),
  taxes: z.array(feeRecord).optional(),
  payoutCategory: z.string(),
  payinCategory: z.string(),
  sourceCountry: z.string().optional(),
  destinationCountry: z.string().optional(),
  destinationBlockchainNetwork: z.string().optional(),
  /** Milliseconds since 1970; null for a quote that never expires. */
  createdAt: z.int(),
  expiresAt: z.int().nullable(),
});
export type Quote = Readonly<z.output<typeof quoteRecord>>;

/** The quotes of one environment. */
export interface Quotes {
  /** On disk once `synced` resolves. */
  add(quote: Quote): void;
  /** By id in lower case. */
  find(quoteId: string): Quote | undefined;
  /** The first that lives at its moment and differs in id and times alone. Looks at all of them. */
  findEqual(quote: Quote): Quote | undefined;
  synced(): Promise<void>;
  close(): Promise<void>;
}

export async function openQuotes(file: string): Promise<Quotes> {
  const journal = await openJournal(file, quoteRecord, (lost) => {
    for (const { quoteId } of lost) quotes.delete(quoteId);
  });
  const quotes = new Map(journal.readNew().map((quote) => [quote.quoteId, quote]));
  return {
    add(quote) {
      quotes.set(quote.quoteId, quote);
      journal.append([quote]);
    },
    find: (quoteId) => quotes.get(quoteId),
    findEqual: (quote) =>
      [...quotes.values()].find(
        (made) => lives(made, quote.createdAt) && isDeepStrictEqual({ ...quote, ...identityOf(made) }, made),
      ),
    synced: () => journal.synced(),
    close: () => journal.close(),
  };
}

function lives({ expiresAt }: Quote, now: number): boolean {
  return expiresAt === null || now < expiresAt;
}

function identityOf({ quoteId, createdAt, expiresAt }: Quote): Pick<Quote, 'quoteId' | 'createdAt' | 'expiresAt'> {
  return { quoteId, createdAt, expiresAt };
}

/** A quote as the service shows it. */
export function quoteBody(quote: Quote, switches: Switches): object {
  const { amountType, source, destination, rate, fees, taxes, createdAt, expiresAt, clientId: _, ...echoed } = quote;
  const amounts = { sourceAmount: wireNumber(source), destinationAmount: wireNumber(destination) };
  return {
    ...echoed,
    quoteStatus: lives(quote, createdAt) ? 'ACTIVE' : 'EXPIRED',
    quoteAmountType: amountType,
    sourceCurrency: source.currency,
    destinationCurrency: destination.currency,
    ...(switches.quoteWithoutAmounts ? {} : amounts),
    adjustedExchangeRate: rateBody(rate),
    fees: feesBody(fees, source.currency),
    taxes: taxesBody(taxes, source.currency),
    createdAt: rfc3339(createdAt),
    ...(expiresAt === null ? {} : { expiresAt: rfc3339(expiresAt + switches.quoteExpirySkewMs) }),
  };
}

export function rateBody(rate: string): object {
  return { adjustedRate: Number.parseFloat(rate) };
}

export function feesBody(fees: readonly Fee[], currency: string): object[] {
  const feeBreakdown = fees.map((fee) => ({
    calculatedFee: wireNumber(fee.amount),
    feeName: fee.name,
    feeDescription: fee.description,
  }));
  return [{ totalFee: wireNumber(totalOf(fees, currency)), feeCurrency: currency, feeBreakdown }];
}

/** Undefined where none are due. */
export function taxesBody(taxes: readonly Fee[] | undefined, currency: string): object[] | undefined {
  const taxBreakdown = taxes?.map((tax) => ({
    taxAmount: wireNumber(tax.amount),
    taxName: tax.name,
    taxDescription: tax.description,
  }));
  return taxes && [{ totalTaxes: wireNumber(totalOf(taxes, currency)), taxCurrency: currency, taxBreakdown }];
}
