import { formatAmount } from '../money.ts';
import type { PayoutRow } from '../payout.ts';

/** Stand in where a row names no category of its own (settings.md). */
export interface BodyDefaults {
  readonly payoutCategory: string;
  readonly payinCategory: string;
}

/**
 * The body of a quote request, as it is sent. The amount is a JSON number written from the
 * decimal text of the bigint; no floating-point number stands between.
 */
export function quoteBody(row: PayoutRow, defaults: BodyDefaults): string {
  const rest = JSON.stringify({
    quoteAmountType: row.amountType,
    sourceCurrency: row.sourceCurrency,
    destinationCurrency: row.destinationCurrency,
    payoutCategory: row.payoutCategory ?? defaults.payoutCategory,
    payinCategory: row.payinCategory ?? defaults.payinCategory,
    sourceCountry: row.sourceCountry ?? undefined,
    destinationCountry: row.destinationCountry ?? undefined,
  });
  return `{"quoteAmount":${formatAmount(row.amount)},${rest.slice(1)}`;
}

/** The body of a payment request (interface page, section 2.5), as it is sent; the row's reference is the `internalId`. */
export function paymentBody(row: PayoutRow, quoteId: string): string {
  return JSON.stringify({
    quoteId,
    beneficiaryIdentityId: row.beneficiaryIdentityId,
    originatorIdentityId: row.originatorIdentityId ?? undefined,
    internalId: row.reference,
    purposeCode: row.purposeCode ?? undefined,
    sourceOfCash: row.sourceOfCash ?? undefined,
  });
}
