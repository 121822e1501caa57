import { z } from 'zod';
import { rfc3339 } from '../clock.ts';
import { AMOUNT_TYPES } from '../payout.ts';
import { moneyRecord, openJournal } from './journal.ts';
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
  synced(): Promise<void>;
  close(): Promise<void>;
}

export async function openQuotes(file: string): Promise<Quotes> {
  const journal = await openJournal(file, quoteRecord);
  const quotes = new Map(journal.readNew().map((quote) => [quote.quoteId, quote]));
  return {
    add(quote) {
      quotes.set(quote.quoteId, quote);
      journal.append([quote]);
    },
    find: (quoteId) => quotes.get(quoteId),
    synced: () => journal.synced(),
    close: () => journal.close(),
  };
}

/** A quote as the service shows it (service-facts, section 2). */
export function quoteBody(quote: Quote, shown: { amounts: boolean }): object {
  const { amountType, source, destination, rate, fees, createdAt, expiresAt, clientId: _, ...echoed } = quote;
  return {
    ...echoed,
    quoteStatus: 'ACTIVE',
    quoteAmountType: amountType,
    sourceCurrency: source.currency,
    destinationCurrency: destination.currency,
    ...(shown.amounts ? { sourceAmount: wireNumber(source), destinationAmount: wireNumber(destination) } : {}),
    adjustedExchangeRate: rateBody(rate),
    fees: feesBody(fees, source.currency),
    createdAt: rfc3339(createdAt),
    ...(expiresAt === null ? {} : { expiresAt: rfc3339(expiresAt) }),
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
