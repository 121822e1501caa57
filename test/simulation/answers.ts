import type { Answer } from '../../src/service/answer.ts';
import type { Book, BookedPayment } from './book.ts';
import type { Fault, Plan } from './plan.ts';
import type { World } from './world.ts';

export interface ServiceParts {
  readonly world: World;
  readonly plan: Plan;
  readonly book: Book;
  readonly fault: (name: Fault, share: number) => boolean;
}

/** What the service and its gateway answer, well and badly. */
export interface Answers {
  readonly answered: (status: number, json: unknown, retryAfter?: string | null) => Answer;
  readonly refusal: (status: number, code: string, retryAfter?: string | null) => Answer;
  /** To a request for a quote that has made its payment. */
  repeated(made: BookedPayment): Answer;
  /** What becomes of a good answer on its way. */
  spoilt(answer: Answer): Answer;
  /** In the place of a good answer, now and then. */
  oddQuotes(): Answer | undefined;
  oddLook(): Answer | undefined;
}

export function openAnswers({ world, plan, book, fault }: ServiceParts): Answers {
  const { dice } = world;

  /** Whole seconds, from a gateway whose clock is not the one that ends quotes; sometimes not there at all. */
  function date(): number | null {
    if (fault('looks', 0.1)) return null;
    return Math.floor((book.now() + plan.dateSkewMs) / 1000) * 1000;
  }

  function answered(status: number, json: unknown, retryAfter: string | null = null): Answer {
    return { kind: 'answered', status, date: date(), retryAfter, json, requestId: null };
  }

  function refusal(status: number, code: string, retryAfter: string | null = null): Answer {
    return answered(status, { errors: [{ code, title: 'refused' }] }, retryAfter);
  }

  return {
    answered,
    refusal,
    repeated(made) {
      switch (plan.usedQuote) {
        case 'same payment':
          return answered(201, book.shownPayment(made));
        case 'conflict':
          return refusal(409, 'USR_011');
        case 'bad request':
          return refusal(400, 'USR_003');
        case 'not found':
          return refusal(404, 'USR_002');
      }
    },
    spoilt(answer) {
      if (!fault('service-replies', 0.25)) return fault('service-5xx', 0.1) ? answered(502, undefined) : answer;
      const status = answer.kind === 'answered' ? answer.status : null;
      return dice.pick<Answer>([
        { kind: 'lost', reason: 'cut', status },
        { kind: 'lost', reason: 'ECONNRESET', status: null },
        answered(status ?? 200, undefined),
        answered(202, {}),
        answered(200, '<html>'),
        answered(307, undefined),
        answered(404, undefined),
      ]);
    },
    oddQuotes() {
      if (!fault('quotes', 0.15)) return undefined;
      return dice.pick([
        () => answered(200, { quotes: [] }),
        () => answered(200, '<html>'),
        () => answered(200, { quotes: [book.shownQuote(book.addQuote('77.00'))] }),
        () => refusal(400, 'USR_003'),
        () => refusal(408, 'SYS_408'),
        () => answered(200, { quotes: [book.shownQuote(book.addQuote('10.00', 300))] }),
      ])();
    },
    oddLook() {
      if (!fault('looks', plan.oddLookShare)) return undefined;
      return dice.pick<Answer>([
        answered(404, undefined),
        answered(404, '<html>'),
        refusal(404, 'ROUTE_NOT_FOUND'),
        answered(200, undefined),
        answered(200, { paymentId: dice.uuid(), paymentState: 'COMPLETED' }),
        answered(403, { errors: [{ code: 'USR_403', title: 'no' }] }),
        { kind: 'lost', reason: 'cut', status: 200 },
      ]);
    },
  };
}

/** Whether a look-up shows a payment to those who ask with these credentials. */
export function openSight({ world, plan, book, fault }: ServiceParts) {
  const missed = new Map<string, number>();

  /**
   * A payment may be missed after its quote's end, but never by two answers that are as far apart as two that prove a
   * death.
   */
  function isMissed({ paymentId, quoteId }: BookedPayment): boolean {
    if (missed.has(paymentId)) return missed.get(paymentId) === book.now();
    const end = book.quotes.get(quoteId)?.expiresAt ?? Number.POSITIVE_INFINITY;
    if (book.now() < end + plan.quoteGraceMs || !fault('looks', 0.9)) return false;
    world.count('payments missed');
    missed.set(paymentId, book.now());
    return true;
  }

  return (payment: BookedPayment, credentials: string): boolean =>
    book.now() >= payment.visibleAt &&
    !isMissed(payment) &&
    (!plan.showsToOwnOnly || payment.credentials === credentials);
}
