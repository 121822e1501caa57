import { z } from 'zod';
import { rfc3339 } from '../../clock.ts';
import { SOURCES_OF_CASH } from '../../payout.ts';
import { failureOf } from '../errors.ts';
import type { Switches } from '../faults/switches.ts';
import { moneyRecord, openJournal } from '../journal.ts';
import { feeRecord, feesBody, rateBody, taxesBody } from '../quotes/quotes.ts';
import { wireNumber } from '../quotes/rates.ts';
import type { PaymentState } from './lifecycle.ts';

const PAYMENT_LIFE_MS = 60 * 24 * 60 * 60 * 1000;

const paymentRecord = z.object({
  /** The id of the quote that it executes, unless `quoteId` names the quote. */
  paymentId: z.string(),
  quoteId: z.string().optional(),
  /** The credential that asked for it. */
  clientId: z.string(),
  beneficiaryIdentityId: z.string(),
  originatorIdentityId: z.string().optional(),
  internalId: z.string().optional(),
  purposeCode: z.string().optional(),
  sourceOfCash: z.enum(SOURCES_OF_CASH).optional(),
  paymentLabels: z.array(z.string()).optional(),
  paymentMemo: z.string().optional(),
  source: moneyRecord,
  destination: moneyRecord,
  destinationCountry: z.string().optional(),
  rate: z.string(),
  fees: z.array(feeRecord),
  taxes: z.array(feeRecord).optional(),
  /** Where it ends, whatever the switches say. */
  finalState: z.string().optional(),
  /** Milliseconds since 1970. */
  initiatedAt: z.int(),
});
export type Payment = Readonly<z.output<typeof paymentRecord>>;

/** The book of payments of one environment: what was paid, in the order in which it was paid. */
export interface Payments {
  /** On disk once `synced` resolves. */
  add(payment: Payment): void;
  /** By id in lower case; the first one, should a quote have been paid twice. */
  find(paymentId: string): Payment | undefined;
  /** By the id of the quote that was paid, in lower case; the first one. */
  ofQuote(quoteId: string): Payment | undefined;
  book(): readonly Payment[];
  synced(): Promise<void>;
  close(): Promise<void>;
}

export async function openPayments(file: string): Promise<Payments> {
  const journal = await openJournal(file, paymentRecord, forget);
  let book: Payment[] = [];
  const byId = new Map<string, Payment>();
  const byQuote = new Map<string, Payment>();

  function enter(payment: Payment): void {
    book.push(payment);
    const { paymentId, quoteId = paymentId } = payment;
    if (!byId.has(paymentId)) byId.set(paymentId, payment);
    if (!byQuote.has(quoteId)) byQuote.set(quoteId, payment);
  }
  function forget(lost: readonly Payment[]): void {
    const kept = book.filter((payment) => !lost.includes(payment));
    book = [];
    byId.clear();
    byQuote.clear();
    for (const payment of kept) enter(payment);
  }
  for (const payment of journal.readNew()) enter(payment);

  return {
    add(payment) {
      enter(payment);
      journal.append([payment]);
    },
    find: (paymentId) => byId.get(paymentId),
    ofQuote: (quoteId) => byQuote.get(quoteId),
    book: () => [...book],
    synced: () => journal.synced(),
    close: () => journal.close(),
  };
}

/** A payment as the service shows it. */
export function paymentBody(
  payment: Payment,
  { state, since }: PaymentState,
  { failureCode }: Pick<Switches, 'failureCode'>,
): object {
  const { source, destination, originatorIdentityId, internalId, destinationCountry } = payment;
  return {
    paymentId: payment.paymentId,
    paymentState: state,
    initiatedAt: rfc3339(payment.initiatedAt),
    lastStateUpdatedAt: rfc3339(since),
    expiresAt: rfc3339(payment.initiatedAt + PAYMENT_LIFE_MS),
    originator: { originatorIdentityId, internalId, sourceCurrency: source.currency, sourceAmount: wireNumber(source) },
    destination: {
      destinationAmount: wireNumber(destination),
      destinationCurrency: destination.currency,
      destinationCountry,
      beneficiaryIdentityId: payment.beneficiaryIdentityId,
    },
    adjustedExchangeRate: rateBody(payment.rate),
    fees: feesBody(payment.fees, source.currency),
    taxes: taxesBody(payment.taxes, source.currency),
    sourceOfCash: payment.sourceOfCash,
    purposeCode: payment.purposeCode,
    transactionDetails: { thirdPartyPayment: originatorIdentityId !== undefined, businessUseCase: 'FIAT_TRANSFER' },
    paymentLabels: payment.paymentLabels,
    paymentMemo: payment.paymentMemo,
    ...errorsBody(state, { since, failureCode }),
  };
}

const DECLINED = { code: 'USR_166', type: 'USER_ERROR', title: 'Payout declined: the account number does not match' };
const RETURNED = { code: 'SYS_120', type: 'SYSTEM_ERROR', title: "The beneficiary's bank sent it back" };

/** What a state that pays nobody says of its reason. */
function errorsBody(
  state: string,
  { since, failureCode }: { since: number; failureCode: Switches['failureCode'] },
): object {
  const error = new Map([
    ['FAILED', failureOf(failureCode)],
    ['DECLINED', DECLINED],
    ['RETURNED', RETURNED],
  ]).get(state);
  return error === undefined ? {} : { errors: [{ ...error, description: error.title, timestamp: rfc3339(since) }] };
}
