import type { Plan } from './plan.ts';
import { EPOCH_MS, type World } from './world.ts';

/* The service's quotes and its book of payments, by which every invariant is measured. */

export interface Quote {
  readonly quoteId: string;
  readonly amount: string;
  /** By the clock that ends quotes; null: no end. */
  readonly expiresAt: number | null;
}

export interface BookedPayment {
  readonly paymentId: string;
  readonly quoteId: string;
  readonly internalId: string;
  readonly beneficiaryIdentityId: string;
  readonly amount: string;
  readonly credentials: string;
  readonly madeAt: number;
  readonly visibleAt: number;
  readonly end: string;
}

/** What a payment request asks for. */
export interface PaymentBody {
  readonly quoteId: string;
  readonly beneficiaryIdentityId: string;
  readonly internalId: string;
}

/** Everything that the service has made. */
export interface Book {
  readonly quotes: ReadonlyMap<string, Quote>;
  readonly payments: readonly BookedPayment[];
  readonly byQuote: ReadonlyMap<string, BookedPayment>;
  readonly byId: ReadonlyMap<string, BookedPayment>;
  /** The clock that ends quotes, milliseconds since 1970. */
  readonly now: () => number;
  isOver(quote: Quote): boolean;
  addQuote(amount: string, lifeMs?: number | null): Quote;
  /** The last quote for an amount that is still alive. */
  sharedQuote(amount: string): Quote | undefined;
  addPayment(body: PaymentBody, from: { offer: Quote; credentials: string }): BookedPayment;
  /** A look-up shows it. */
  show(payment: BookedPayment): void;
  /** From now on no look-up shows it; false where one has. What is not paid is no payment. */
  forget(quoteId: string, isPaid: boolean): boolean;
  /** As replies show them. */
  shownQuote(quote: Quote): Record<string, unknown>;
  shownPayment(payment: BookedPayment): Record<string, unknown>;
}

const STATES_BEFORE_END = ['INITIATED', 'PROCESSING'] as const;
const ENDS = ['COMPLETED', 'COMPLETED', 'COMPLETED', 'FAILED', 'RETURNED', 'DECLINED', 'STRANGE'] as const;
const TO_END_MS = 3000;
/** How late a payment is seen where the service does not show it in time. */
const HIDDEN_MS_MAX = 120_000;

/** Whether a payment has ended so that its reference is free again. */
export function hasComeToNothing({ madeAt, end }: BookedPayment, now: number): boolean {
  return now - madeAt > TO_END_MS && (end === 'FAILED' || end === 'RETURNED' || end === 'DECLINED');
}

export function openBook(world: World, plan: Plan): Book {
  const { dice } = world;
  const quotes = new Map<string, Quote>();
  const byQuote = new Map<string, BookedPayment>();
  const byId = new Map<string, BookedPayment>();
  const payments: BookedPayment[] = [];
  const seen = new Set<BookedPayment>();
  const isVisible = plan.has.has('payment-visible-in-time');
  const now = (): number => EPOCH_MS + world.now() + plan.serviceSkewMs;
  const isOver = ({ expiresAt }: Quote): boolean => expiresAt !== null && now() > expiresAt;

  return {
    quotes,
    payments,
    byQuote,
    byId,
    now,
    isOver,
    addQuote(amount, lifeMs = plan.quoteLifeMs) {
      const made = { quoteId: dice.uuid(), amount, expiresAt: lifeMs === null ? null : now() + lifeMs };
      quotes.set(made.quoteId, made);
      return made;
    },
    sharedQuote: (amount) => [...quotes.values()].findLast((made) => made.amount === amount && !isOver(made)),
    addPayment({ internalId, beneficiaryIdentityId }, { offer, credentials }) {
      const { quoteId, amount } = offer;
      const paid: BookedPayment = {
        paymentId: plan.has.has('payment-id-is-quote-id') ? quoteId : dice.uuid(),
        quoteId,
        internalId,
        beneficiaryIdentityId,
        amount,
        credentials,
        madeAt: now(),
        visibleAt: now() + dice.between(0, isVisible ? plan.visibleMs : HIDDEN_MS_MAX),
        end: dice.pick(ENDS),
      };
      world.count('payments');
      world.say(() => `the service makes payment ${paid.paymentId.slice(0, 8)} of ${internalId}`);
      byQuote.set(quoteId, paid);
      byId.set(paid.paymentId, paid);
      payments.push(paid);
      return paid;
    },
    show: (payment) => void seen.add(payment),
    forget(quoteId, isPaid) {
      const made = byQuote.get(quoteId);
      if (made === undefined || seen.has(made)) return false;
      byId.delete(made.paymentId);
      if (!isPaid) payments.splice(payments.indexOf(made), 1);
      return true;
    },
    shownQuote({ quoteId, amount, expiresAt }) {
      const shown: Record<string, unknown> = {
        quoteId,
        quoteStatus: 'ACTIVE',
        sourceCurrency: 'USD',
        destinationCurrency: 'MXN',
        sourceAmount: Number.parseFloat(amount),
      };
      if (expiresAt !== null) shown['expiresAt'] = new Date(expiresAt).toISOString();
      return shown;
    },
    shownPayment: ({ paymentId, internalId, amount, beneficiaryIdentityId, madeAt, end }) => ({
      paymentId,
      paymentState: now() - madeAt > TO_END_MS ? end : dice.pick(STATES_BEFORE_END),
      originator: { internalId, sourceCurrency: 'USD', sourceAmount: Number.parseFloat(amount) },
      destination: { beneficiaryIdentityId, destinationCurrency: 'MXN' },
    }),
  };
}
