import type { Answer } from '../../src/service/answer.ts';
import { latencyMs, type Plan } from './plan.ts';
import { EPOCH_MS, type World } from './world.ts';

/*
 * The payments service with its gateway, as the interface page and the four capabilities have it, and as badly behaved
 * as they allow. Its book of payments is what every invariant is measured by.
 */

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

export type Reply = (answer: Answer) => void;

/** A request as it arrives at the gateway. */
export interface Arrived {
  readonly credentials: string;
  readonly token: number;
  readonly reply: Reply;
}

export interface FakeService {
  readonly quotes: ReadonlyMap<string, Quote>;
  readonly book: readonly BookedPayment[];
  /** Payment requests that were sent and are neither carried out nor dropped. */
  readonly underWay: number;
  readonly tokenNow: number;
  /** The clock that ends quotes, milliseconds since 1970. */
  now(): number;
  send(kind: 'quote' | 'payment' | 'look-up', request: Arrived & { body: string }): void;
  revokeTokens(): void;
  calm(): void;
}

interface PaymentBody {
  readonly quoteId: string;
  readonly beneficiaryIdentityId: string;
  readonly internalId: string;
}

const STATES_BEFORE_END = ['INITIATED', 'PROCESSING'] as const;
const ENDS = ['COMPLETED', 'COMPLETED', 'COMPLETED', 'FAILED', 'RETURNED', 'DECLINED', 'STRANGE'] as const;
const TO_END_MS_MAX = 15_000;

export function openFakeService(
  world: World,
  plan: Plan,
  watch: { made(payment: BookedPayment): void; refusedBeneficiary: string | undefined },
): FakeService {
  const { dice } = world;
  const quotes = new Map<string, Quote>();
  const byQuote = new Map<string, BookedPayment>();
  const byId = new Map<string, BookedPayment>();
  const book: BookedPayment[] = [];
  const missed = new Map<string, number>();
  let token = 1;
  let isCalm = false;
  let underWay = 0;
  const now = (): number => EPOCH_MS + world.now() + plan.serviceSkewMs;
  const lag = (): number => latencyMs(dice, plan, isCalm);
  const fault = (name: Parameters<Plan['faults']['has']>[0], share: number): boolean =>
    !isCalm && plan.faults.has(name) && dice.chance(share);

  /** Whole seconds, from a gateway whose clock is not the one that ends quotes; sometimes not there at all. */
  function date(): number | null {
    if (fault('looks', 0.1)) return null;
    return Math.floor((now() + plan.dateSkewMs) / 1000) * 1000;
  }

  function answered(status: number, json: unknown, retryAfter: string | null = null): Answer {
    return { kind: 'answered', status, date: date(), retryAfter, json, requestId: null };
  }

  function refusal(status: number, code: string, retryAfter: string | null = null): Answer {
    return answered(status, { errors: [{ code, title: 'refused' }] }, retryAfter);
  }

  function back(reply: Reply, answer: Answer): void {
    if (fault('network', 0.08)) {
      world.count('replies lost');
      return;
    }
    world.after(lag(), { actor: null, label: 'a reply arrives', run: () => reply(answer) });
  }

  /** Everything that stands between a request and its being carried out, for every kind of request. */
  function gateway(request: Arrived): Answer | undefined {
    if (request.token !== token) return refusal(401, 'USR_401');
    if (fault('service-refuses', 0.06)) return refusal(429, 'USR_429', dice.pick(['1', '3', null, 'soon', '20']));
    if (fault('service-5xx', 0.08)) return answered(dice.pick([500, 502, 503, 504]), dice.pick([undefined, {}]));
    if (fault('service-refuses', 0.02)) return dice.chance(0.5) ? refusal(402, 'USR_402') : refusal(403, 'CFG_001');
    return undefined;
  }

  function quote(request: Arrived & { body: string }): void {
    const refused = gateway(request) ?? oddQuotes();
    if (refused !== undefined) {
      back(request.reply, refused);
      return;
    }
    const { quoteAmount } = JSON.parse(request.body) as { quoteAmount: number };
    const amount = quoteAmount.toFixed(2);
    const shared = plan.sharesQuotes && dice.chance(0.5) ? sharedQuote(amount) : undefined;
    const made = shared ?? newQuote(amount);
    back(request.reply, answered(200, { quotes: [shownQuote(made)] }));
  }

  function oddQuotes(): Answer | undefined {
    if (!fault('quotes', 0.15)) return undefined;
    return dice.pick([
      () => answered(200, { quotes: [] }),
      () => answered(200, '<html>'),
      () => answered(200, { quotes: [{ ...shownQuote(newQuote('77.00')) }] }),
      () => refusal(400, 'USR_003'),
      () => refusal(408, 'SYS_408'),
      () => answered(200, { quotes: [shownQuote(newQuote('10.00', 300))] }),
    ])();
  }

  function newQuote(amount: string, lifeMs = plan.quoteLifeMs): Quote {
    const made = { quoteId: dice.uuid(), amount, expiresAt: lifeMs === null ? null : now() + lifeMs };
    quotes.set(made.quoteId, made);
    return made;
  }

  function sharedQuote(amount: string): Quote | undefined {
    return [...quotes.values()].findLast((made) => made.amount === amount && !isOver(made));
  }

  function isOver({ expiresAt }: Quote): boolean {
    return expiresAt !== null && now() > expiresAt;
  }

  function payment(request: Arrived & { body: string }): void {
    const body = JSON.parse(request.body) as PaymentBody;
    if (fault('network', 0.05)) {
      world.count('requests lost');
      underWay--;
      return;
    }
    const refused = gateway(request);
    const isLying = refused !== undefined && plan.has.has('one-payment-per-quote') && fault('gateway', 0.4);
    if (
      refused !== undefined &&
      !isLying &&
      (refused.kind !== 'answered' || refused.status < 500 || dice.chance(0.5))
    ) {
      underWay--;
      back(request.reply, refused);
      return;
    }
    if (refused !== undefined) world.count('refused and made');
    const commitMs = fault('service-late', 0.25) ? dice.between(0, 2 * (plan.quoteLifeMs ?? 6000)) : dice.between(0, 3);
    world.after(commitMs, {
      actor: null,
      label: 'the service decides on a payment request',
      run: () => {
        underWay--;
        const answer = commit(body, request.credentials);
        back(request.reply, spoilt(refused ?? answer));
      },
    });
  }

  function commit(body: PaymentBody, credentials: string): Answer {
    const offer = quotes.get(body.quoteId);
    if (offer === undefined) return refusal(404, 'USR_002');
    if (body.beneficiaryIdentityId === watch.refusedBeneficiary) return refusal(422, 'USR_104');
    const made = byQuote.get(offer.quoteId);
    if (made !== undefined && plan.has.has('one-payment-per-quote')) return repeated(made);
    if (isOver(offer) && plan.has.has('expired-quote-refused')) return refusal(400, 'USR_013');
    const paid = makePayment(body, { offer, credentials });
    return answered(201, shownPayment(paid));
  }

  function repeated(made: BookedPayment): Answer {
    switch (plan.usedQuote) {
      case 'same payment':
        return answered(201, shownPayment(made));
      case 'conflict':
        return refusal(409, 'USR_011');
      case 'bad request':
        return refusal(400, 'USR_003');
      case 'not found':
        return refusal(404, 'USR_002');
    }
  }

  function makePayment(
    body: PaymentBody,
    { offer, credentials }: { offer: Quote; credentials: string },
  ): BookedPayment {
    const isVisible = plan.has.has('payment-visible-in-time');
    const paid: BookedPayment = {
      paymentId: plan.has.has('payment-id-is-quote-id') ? offer.quoteId : dice.uuid(),
      quoteId: offer.quoteId,
      internalId: body.internalId,
      beneficiaryIdentityId: body.beneficiaryIdentityId,
      amount: offer.amount,
      credentials,
      madeAt: now(),
      visibleAt: now() + (isVisible ? dice.between(0, plan.visibleMs) : dice.between(0, 120_000)),
      end: dice.pick(ENDS),
    };
    world.count('payments');
    world.say(() => `the service makes payment ${paid.paymentId.slice(0, 8)} of ${paid.internalId}`);
    byQuote.set(offer.quoteId, paid);
    byId.set(paid.paymentId, paid);
    book.push(paid);
    watch.made(paid);
    return paid;
  }

  /** What becomes of a good answer on its way. */
  function spoilt(answer: Answer): Answer {
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
  }

  function lookUp(request: Arrived & { body: string }): void {
    const odd = gateway(request) ?? oddLook();
    const paid = byId.get(request.body);
    const isShown =
      paid !== undefined &&
      now() >= paid.visibleAt &&
      !isMissed(paid) &&
      (!plan.showsToOwnOnly || paid.credentials === request.credentials);
    const answer = odd ?? (isShown ? answered(200, shownPayment(paid)) : refusal(404, 'USR_002'));
    back(request.reply, answer);
  }

  /**
   * A payment may be missed after its quote's end, but never by two answers that are as far apart as two that prove a
   * death.
   */
  function isMissed({ paymentId, quoteId }: BookedPayment): boolean {
    if (missed.has(paymentId)) return missed.get(paymentId) === now();
    const end = quotes.get(quoteId)?.expiresAt ?? Number.POSITIVE_INFINITY;
    if (now() < end + plan.quoteGraceMs || !fault('looks', 0.5)) return false;
    world.count('payments missed');
    missed.set(paymentId, now());
    return true;
  }

  function oddLook(): Answer | undefined {
    if (!fault('looks', plan.oddLookShare)) return undefined;
    return dice.pick<Answer>([
      answered(404, undefined),
      answered(404, '<html>'),
      answered(200, undefined),
      answered(200, { paymentId: dice.uuid(), paymentState: 'COMPLETED' }),
      answered(403, { errors: [{ code: 'USR_403', title: 'no' }] }),
      { kind: 'lost', reason: 'cut', status: 200 },
    ]);
  }

  function shownQuote(made: Quote): Record<string, unknown> {
    return {
      quoteId: made.quoteId,
      quoteStatus: 'ACTIVE',
      sourceCurrency: 'USD',
      destinationCurrency: 'MXN',
      sourceAmount: Number.parseFloat(made.amount),
      ...(made.expiresAt === null ? {} : { expiresAt: new Date(made.expiresAt).toISOString() }),
    };
  }

  function shownPayment(paid: BookedPayment): Record<string, unknown> {
    const isOverNow = now() - paid.madeAt > TO_END_MS_MAX / 5;
    return {
      paymentId: paid.paymentId,
      paymentState: isOverNow ? paid.end : dice.pick(STATES_BEFORE_END),
      originator: { internalId: paid.internalId, sourceCurrency: 'USD', sourceAmount: Number.parseFloat(paid.amount) },
      destination: { beneficiaryIdentityId: paid.beneficiaryIdentityId, destinationCurrency: 'MXN' },
    };
  }

  const handlers = { quote, payment, 'look-up': lookUp };

  return {
    quotes,
    book,
    get underWay() {
      return underWay;
    },
    get tokenNow() {
      return token;
    },
    now,
    send(kind, request) {
      const arrivals = kind === 'payment' && plan.has.has('one-payment-per-quote') && fault('gateway', 0.15) ? 2 : 1;
      if (arrivals > 1) world.count('requests doubled');
      if (kind === 'payment') underWay += arrivals;
      for (let copy = 0; copy < arrivals; copy++) {
        world.after(lag(), { actor: null, label: `a ${kind} request arrives`, run: () => handlers[kind](request) });
      }
    },
    revokeTokens() {
      token++;
    },
    calm() {
      isCalm = true;
    },
  };
}
