import type { Answer } from '../../src/service/answer.ts';
import { openAnswers, openSight } from './answers.ts';
import { type BookedPayment, openBook, type PaymentBody, type Quote } from './book.ts';
import { type Fault, latencyMs, type Plan } from './plan.ts';
import type { World } from './world.ts';

/*
 * The payments service with its gateway, as the interface page and the four capabilities have it, and as badly behaved
 * as they allow.
 */

export type Reply = (answer: Answer) => void;

/** A request as it arrives at the gateway. */
interface Arrived {
  readonly body: string;
  readonly credentials: string;
  readonly token: number;
  readonly reply: Reply;
}

export interface FakeService {
  readonly quotes: ReadonlyMap<string, Quote>;
  readonly book: readonly BookedPayment[];
  /** Payment requests that were sent and are neither carried out nor dropped. */
  underWay(): number;
  tokenNow(): number;
  /** The clock that ends quotes, milliseconds since 1970. */
  now(): number;
  send(kind: 'quote' | 'payment' | 'look-up', request: Arrived): void;
  revokeTokens(): void;
  /** From now on, until faults end, a gateway in front of it knows nothing. */
  lie(): void;
  /** It made the payment of a quote and does not know it any more; whether it paid it, its book says. */
  forget(quoteId: string): void;
  isForgotten(quoteId: string | null): boolean;
  /** Whether it answers nothing else either. */
  isLying(): boolean;
  calm(): void;
}

interface Watch {
  made(payment: BookedPayment): void;
  /** Whoever is turned away for good. */
  readonly refusedBeneficiary: string | undefined;
}

export function openFakeService(world: World, plan: Plan, watch: Watch): FakeService {
  const { dice } = world;
  const book = openBook(world, plan);
  const { now } = book;
  let token = 1;
  let isCalm = false;
  let lies = false;
  let underWay = 0;
  let forgotten: string | undefined;
  const lag = (): number => latencyMs(dice, plan, isCalm);
  const fault = (name: Fault, share: number): boolean => !isCalm && plan.faults.has(name) && dice.chance(share);
  const answers = openAnswers({ world, plan, book, fault });
  const { answered, refusal } = answers;
  const isShown = openSight({ world, plan, book, fault });

  function back(reply: Reply, answer: Answer): void {
    if (fault('network', 0.08)) {
      world.count('replies lost');
      return;
    }
    world.after(lag(), { actor: null, label: 'a reply arrives', run: () => reply(answer) });
  }

  /** Everything that stands between a request and its being carried out, for every kind of request. */
  function gateway(request: Arrived, busyShare = 0.06): Answer | undefined {
    if (request.token !== token) return refusal(401, 'USR_401');
    if (fault('service-refuses', busyShare)) return refusal(429, 'USR_429', dice.pick(['1', '3', null, 'soon', '20']));
    if (fault('service-5xx', 0.08)) return answered(dice.pick([500, 502, 503, 504]), dice.pick([undefined, {}]));
    if (fault('service-refuses', 0.02)) return dice.chance(0.5) ? refusal(402, 'USR_402') : refusal(403, 'CFG_001');
    return undefined;
  }

  function quote(request: Arrived): void {
    const refused = gateway(request) ?? answers.oddQuotes();
    if (refused !== undefined) {
      back(request.reply, refused);
      return;
    }
    const { quoteAmount } = JSON.parse(request.body) as { quoteAmount: number };
    const amount = quoteAmount.toFixed(2);
    const shared = plan.sharesQuotes && dice.chance(0.5) ? book.sharedQuote(amount) : undefined;
    back(request.reply, answered(200, { quotes: [book.shownQuote(shared ?? book.addQuote(amount))] }));
  }

  function payment(request: Arrived): void {
    const body = JSON.parse(request.body) as PaymentBody;
    if (fault('network', 0.05)) {
      world.count('requests lost');
      underWay--;
      return;
    }
    const refused = gateway(request, 0.2);
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
        back(request.reply, answers.spoilt(refused ?? answer));
      },
    });
  }

  function commit(body: PaymentBody, credentials: string): Answer {
    const offer = book.quotes.get(body.quoteId);
    if (offer === undefined) return refusal(404, 'USR_002');
    if (body.beneficiaryIdentityId === watch.refusedBeneficiary) return refusal(422, 'USR_104');
    const made = book.byQuote.get(offer.quoteId);
    if (made !== undefined && plan.has.has('one-payment-per-quote')) return answers.repeated(made);
    if (book.isOver(offer) && plan.has.has('expired-quote-refused')) return refusal(400, 'USR_013');
    const paid = book.addPayment(body, { offer, credentials });
    watch.made(paid);
    return answered(201, book.shownPayment(paid));
  }

  function lookUp(request: Arrived): void {
    if (lies && !isCalm) {
      back(request.reply, refusal(404, plan.lie === 'its own words' ? 'ROUTE_NOT_FOUND' : 'USR_002'));
      return;
    }
    const odd = gateway(request) ?? answers.oddLook();
    const paid = book.byId.get(request.body);
    const shown = paid !== undefined && isShown(paid, request.credentials) ? paid : undefined;
    if (odd === undefined && shown !== undefined) book.show(shown);
    const found = odd ?? (shown === undefined ? refusal(404, 'USR_002') : answered(200, book.shownPayment(shown)));
    back(request.reply, found);
  }

  const handlers = { quote, payment, 'look-up': lookUp };

  return {
    quotes: book.quotes,
    book: book.payments,
    underWay: () => underWay,
    tokenNow: () => token,
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
    forget(quoteId) {
      const isPaid = dice.chance(0.5);
      if (forgotten !== undefined || !book.forget(quoteId, isPaid)) return;
      forgotten = quoteId;
      world.count('payments forgotten');
      world.say(
        () => `the service forgets the payment of ${quoteId.slice(0, 8)}, which is ${isPaid ? 'paid' : 'not paid'}`,
      );
    },
    isForgotten: (quoteId) => quoteId !== null && quoteId === forgotten,
    lie() {
      lies = true;
    },
    isLying: () => lies && !isCalm && plan.lie === 'the words of the service',
    calm() {
      isCalm = true;
    },
  };
}
