import type { Clock } from '../../clock.ts';
import { moneyOfDecimal } from '../../money.ts';
import type { PayoutRow } from '../../payout.ts';
import type { Answer } from '../answer.ts';
import { type BodyDefaults, paymentBody, quoteBody } from '../bodies.ts';
import type { Brake } from '../brake.ts';
import type { Service } from '../client.ts';
import { type ErrorEntry, parseErrors, parseQuotes, type QuoteReply } from '../replies.ts';
import { TokenRefused, TokenUnavailable } from '../token.ts';
import type { Asked } from './seen.ts';

/** No probe sends more requests than this, whatever the service answers; requests for tokens are left out. */
export const REQUESTS_MAX = 600;
/** A payment request is written within this, and repeated so often where a 429 or 401 asks for it. */
const SEND_MS = 10 * 1000;
const TRIES_MAX = 4;

/** Why a question could not be asked to its end. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered';
}

export interface AskerOptions {
  readonly service: Service;
  readonly brake: Brake;
  readonly clock: Clock;
  /** What is paid, again and again: 1 of a currency to the beneficiary. */
  readonly row: PayoutRow;
  readonly defaults: BodyDefaults;
  /** All of it is over after this. */
  readonly waitMs: number;
}

/** A quote that the service gave, and when, by our monotonic clock. */
export interface Quoted {
  readonly quoteId: string;
  readonly quote: QuoteReply;
  /** What is paid with it, under a reference of its own. */
  readonly row: PayoutRow;
  readonly date: number | null;
  /** The moment at which the answer had come. */
  readonly at: number;
}

/** Asks within a limit of time and of requests, and waits where the service asks for it. Throws Unanswered at a limit. */
export interface Asker {
  /** A fresh quote. Throws Unanswered when the service gives none that can be paid, or one that it gave before. */
  quote(): Promise<Quoted>;
  /** Sends a payment request, through the service unless another client is named; again where it was answered 429. */
  pay(quoted: Pick<Quoted, 'quoteId' | 'row'>, through?: Service): Promise<Answer>;
  /** Waits until requests may be sent and the client has its token, so that `payOnce` waits for nothing. */
  ready(through: Service): Promise<void>;
  /** One payment request through this client, whatever it is answered. */
  payOnce(quoted: Pick<Quoted, 'quoteId' | 'row'>, through: Service): Promise<Answer>;
  lookUp(paymentId: string): Promise<Answer>;
  /** One look-up that a 429 does not repeat. */
  lookUpOnce(paymentId: string): Promise<Answer>;
  pause(ms: number): Promise<void>;
  remainingMs(): number;
  requests(): number;
}

export function openAsker(options: AskerOptions): Asker {
  const { service, brake, clock, row, defaults, waitMs } = options;
  const deadline = clock.monotonic() + waitMs;
  let requests = 0;
  const given = new Set<string>();

  const remainingMs = (): number => deadline - clock.monotonic();

  function spend(): void {
    requests += 1;
    if (requests > REQUESTS_MAX) throw new Unanswered(`${REQUESTS_MAX} requests were sent, the probe sends no more`);
    if (remainingMs() < Math.max(1, brake.remainingMs())) throw new Unanswered('the time given by --wait is over');
  }

  async function pause(ms: number): Promise<void> {
    if (ms > remainingMs()) throw new Unanswered('the time given by --wait is over');
    await clock.sleep(ms);
  }

  async function ready(through: Service): Promise<void> {
    const braked = brake.remainingMs();
    if (braked > 0) await pause(braked);
    await through.ready();
  }

  async function payOnce({ quoteId, row: paid }: Pick<Quoted, 'quoteId' | 'row'>, through: Service): Promise<Answer> {
    spend();
    return await through.createPayment(paymentBody(paid, quoteId), { sendBefore: clock.monotonic() + SEND_MS });
  }

  async function lookUpOnce(paymentId: string): Promise<Answer> {
    spend();
    return await service.readPayment(paymentId);
  }

  return {
    pause,
    ready,
    payOnce,
    lookUpOnce,
    remainingMs,
    requests: () => requests,
    async quote() {
      const answer = await patiently(async () => {
        spend();
        return await service.quote(quoteBody(row, defaults));
      });
      const at = clock.monotonic();
      const isGiven = answer.kind === 'answered' && (answer.status === 200 || answer.status === 201);
      const offered = isGiven ? parseQuotes(answer.json) : undefined;
      const quote = offered?.find((one) => isFor(one, row));
      if (quote === undefined) throw new Unanswered(`the service gave no quote to pay (${describeAnswer(answer)})`);
      if (given.has(quote.quoteId)) throw new Unanswered('the service gave a quote again that it had given before');
      given.add(quote.quoteId);
      const numbered = { ...row, reference: `${row.reference}-${given.size}` };
      return {
        quoteId: quote.quoteId,
        quote,
        row: numbered,
        date: answer.kind === 'answered' ? answer.date : null,
        at,
      };
    },
    pay: async (quoted, through = service) =>
      await patiently(async () => {
        await ready(through);
        return await payOnce(quoted, through);
      }),
    lookUp: async (paymentId) => await patiently(() => lookUpOnce(paymentId)),
  };
}

/** Asks again while the service answers 429. */
async function patiently(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const answer = await ask();
    const isOver = answer.kind !== 'answered' || answer.status !== 429 || tries >= TRIES_MAX;
    if (isOver) return answer;
  }
}

/** Whether a quote is active and for the row's currencies and amount, as far as it shows. */
function isFor(quote: QuoteReply, { amount, amountType, sourceCurrency, destinationCurrency }: PayoutRow): boolean {
  if ((quote.status ?? 'ACTIVE').toUpperCase() !== 'ACTIVE') return false;
  if ((quote.sourceCurrency ?? sourceCurrency) !== sourceCurrency) return false;
  if ((quote.destinationCurrency ?? destinationCurrency) !== destinationCurrency) return false;
  const shown = amountType === 'SOURCE_AMOUNT' ? quote.sourceAmount : quote.destinationAmount;
  return shown === null || moneyOfDecimal(shown, amount.currency)?.minor === amount.minor;
}

/** What a question came to. Anything that stops a question for a reason that a person can fix is its answer. */
export async function asked<T>(ask: () => Promise<T>): Promise<Asked<T>> {
  try {
    return { seen: await ask() };
  } catch (error) {
    const isExpected =
      error instanceof Unanswered || error instanceof TokenUnavailable || error instanceof TokenRefused;
    if (!isExpected) throw error;
    return { unanswered: error.message };
  }
}

/** `400 USR_001 Bad request`, or why there was no answer. */
export function describeAnswer(answer: Answer): string {
  if (answer.kind !== 'answered') return answer.reason;
  const error: ErrorEntry | undefined = parseErrors(answer.json)[0];
  return [answer.status, error?.code, error?.title].filter((part) => part !== null && part !== undefined).join(' ');
}
