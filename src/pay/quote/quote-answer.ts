import { exactMoney, type Money, moneyOfDecimal, sumMoney } from '../../money.ts';
import type { PayoutRow } from '../../payout.ts';
import type { Answer } from '../../service/answer.ts';
import { parseQuotes, type QuoteReply } from '../../service/replies.ts';
import { badCertificate, readRefused } from '../refused.ts';

/** A quote that may be armed. */
export interface UsableQuote {
  readonly quoteId: string;
  /** Milliseconds since 1970 by the service; null when it names no end. */
  readonly expiresAt: number | null;
  /** Life left when the service answered, by its own clock; null when it cannot be told. */
  readonly lifeMs: number | null;
  readonly sourceAmount: Money | null;
  readonly destinationAmount: Money | null;
  readonly rate: string | null;
  readonly fees: readonly Money[];
}

export type QuoteReading =
  | { readonly kind: 'usable'; readonly quote: UsableQuote }
  | { readonly kind: 'held'; readonly code: string; readonly reason: string }
  | { readonly kind: 'rejected'; readonly code: string; readonly reason: string }
  | { readonly kind: 'pause'; readonly code: string; readonly reason: string }
  | { readonly kind: 'again'; readonly reason: string };

/** What a quote request's answer means for its payout (architecture.md, "Quote"). */
export function readQuoteAnswer(answer: Answer, row: PayoutRow): QuoteReading {
  if (answer.kind === 'not-sent' && answer.certificate) return { kind: 'pause', ...badCertificate(answer.reason) };
  if (answer.kind !== 'answered') return { kind: 'again', reason: answer.reason };
  const { status, json, date } = answer;
  if (status === 200 || status === 201) {
    const quotes = parseQuotes(json);
    return quotes === undefined ? { kind: 'again', reason: 'unreadable quotes' } : chooseQuote(quotes, row, date);
  }
  const { code, reason, isExplained, isRunWide } = readRefused(answer, 'quote');
  if (isRunWide) return { kind: 'pause', code, reason };
  if (status === 400 && isExplained) return { kind: 'rejected', code, reason };
  return { kind: 'again', reason: code };
}

function chooseQuote(quotes: readonly QuoteReply[], row: PayoutRow, date: number | null): QuoteReading {
  const ours = quotes.filter((quote) => isActive(quote) && isInOurCurrencies(quote, row));
  if (ours.length === 0) return { kind: 'again', reason: 'no active quote in our currencies' };
  const amounts = ours.map((quote) => readAmounts(quote, row));
  const usable = amounts.findIndex((amount) => amount !== undefined && hasOurAmount(amount, row));
  const quote = ours[usable];
  const amount = amounts[usable];
  if (quote !== undefined && amount !== undefined) {
    const lifeMs = quote.expiresAt === null || date === null ? null : quote.expiresAt - date;
    return {
      kind: 'usable',
      quote: { quoteId: quote.quoteId, expiresAt: quote.expiresAt, lifeMs, rate: quote.rate, ...amount },
    };
  }
  if (amounts.includes(undefined)) {
    return { kind: 'held', code: 'E_QUOTE_DIGITS', reason: 'the quote has more digits than its currency' };
  }
  return { kind: 'held', code: 'E_QUOTE_AMOUNT', reason: 'the quote is for another amount' };
}

function isActive({ status }: QuoteReply): boolean {
  return status === null || status.toUpperCase() === 'ACTIVE';
}

function isInOurCurrencies(quote: QuoteReply, row: PayoutRow): boolean {
  return (
    (quote.sourceCurrency ?? row.sourceCurrency) === row.sourceCurrency &&
    (quote.destinationCurrency ?? row.destinationCurrency) === row.destinationCurrency
  );
}

type Amounts = Pick<UsableQuote, 'sourceAmount' | 'destinationAmount' | 'fees'>;

/** The quote's money, or undefined when an amount has more digits than its currency; fees may (architecture.md). */
function readAmounts(quote: QuoteReply, row: PayoutRow): Amounts | undefined {
  const source = readShown(quote.sourceAmount, row.sourceCurrency);
  const destination = readShown(quote.destinationAmount, row.destinationCurrency);
  if (source === undefined || destination === undefined) return undefined;
  return { sourceAmount: source, destinationAmount: destination, fees: sumFees(quote.fees) };
}

/** Null when the service does not show it, undefined when it cannot be the currency's. */
export function readShown(text: string | null, currency: string): Money | null | undefined {
  return text === null ? null : moneyOfDecimal(text, currency);
}

/** Fees and taxes added up per currency, exactly as they were told. */
export function sumFees(fees: readonly { amount: string; currency: string }[]): Money[] {
  return sumMoney(fees.flatMap(({ amount, currency }) => exactMoney(amount, currency) ?? []));
}

function hasOurAmount({ sourceAmount, destinationAmount }: Amounts, row: PayoutRow): boolean {
  const shown = row.amountType === 'SOURCE_AMOUNT' ? sourceAmount : destinationAmount;
  return shown === null || shown.minor === row.amount.minor;
}
