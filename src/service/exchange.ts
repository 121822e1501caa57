import type { Dispatcher, Pool } from 'undici';
import type { Clock } from '../clock.ts';
import { type Answer, answerOf, failureOf, notSent, type ResponseHeaders, requestIdOf } from './answer.ts';

/** A longer body is not read to its end. */
export const BODY_BYTES_MAX = 1024 * 1024;
/** A longer timer would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export interface Exchange {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface ExchangeLimits {
  readonly clock: Clock;
  /** The first byte leaves before this moment of `clock.monotonic()`, or never. */
  readonly sendBefore: number;
  /** From the first byte of the request to the last of the answer, in milliseconds. */
  readonly timeoutMs: number;
  /** Runs immediately before the first byte is written. */
  readonly onSent?: () => void;
}

/**
 * One HTTP exchange, written at most once whatever the connection does: undici calls `onRequestStart` each time that it
 * is about to write a request, and a second call is turned away. What fails before the first is `not-sent`, what fails
 * after it is `lost`. Never rejects.
 */
export function exchange(pool: Pool, request: Exchange, limits: ExchangeLimits): Promise<Answer> {
  return new Promise((resolve) => {
    pool.dispatch(
      { ...request, idempotent: false, headersTimeout: 0, bodyTimeout: 0 },
      new OneExchange(limits, resolve),
    );
  });
}

class OneExchange implements Dispatcher.DispatchHandler {
  readonly #limits: ExchangeLimits;
  readonly #resolve: (answer: Answer) => void;
  /** Of the request that was sent. */
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #status: number | undefined;
  #headers: ResponseHeaders = {};
  #bodyBytes = 0;
  #chunks: Buffer[] = [];
  /** One for both limits: most answers are there before a request would have had to leave. */
  #timer: NodeJS.Timeout;
  /** Time for the answer that is left when the timer goes off; and by the clock, when that time ends. */
  #leftMs = 0;
  #endsAt = 0;

  constructor(limits: ExchangeLimits, resolve: (answer: Answer) => void) {
    this.#limits = limits;
    this.#resolve = resolve;
    this.#timer = this.#startTimer(limits.sendBefore - limits.clock.monotonic());
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const { clock, sendBefore, timeoutMs, onSent } = this.#limits;
    if (this.#controller !== undefined) return this.#giveUp(controller, 'would be sent twice');
    const now = clock.monotonic();
    if (this.#settled || now >= sendBefore) return this.#giveUp(controller, 'deadline');
    this.#controller = controller;
    this.#endsAt = now + timeoutMs;
    this.#leftMs = this.#endsAt - sendBefore;
    if (this.#leftMs < 0) this.#restartTimer(timeoutMs);
    onSent?.();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes > BODY_BYTES_MAX) this.#giveUp(controller, 'body too long');
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [first] = this.#chunks;
    const body = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    if (this.#status === undefined) this.#fail('no status');
    else this.#settle(answerOf(this.#status, this.#headers, body));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const { reason, certificate } = failureOf(error);
    this.#fail(reason, certificate);
  }

  #startTimer(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#timeIsOver(), Math.min(Math.max(0, ms), TIMER_MS_MAX));
  }

  #restartTimer(ms: number): void {
    clearTimeout(this.#timer);
    this.#leftMs = 0;
    this.#timer = this.#startTimer(ms);
  }

  #timeIsOver(): void {
    if (this.#controller === undefined) return this.#fail('deadline');
    const leftMs = Math.min(this.#leftMs, this.#endsAt - this.#limits.clock.monotonic());
    if (leftMs > 0) this.#restartTimer(leftMs);
    else this.#giveUp(this.#controller, 'time-out');
  }

  #settle(answer: Answer): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#timer);
    this.#resolve(answer);
  }

  #fail(reason: string, certificate = false): void {
    if (this.#controller === undefined) return this.#settle(notSent(reason, certificate));
    const requestId = requestIdOf(this.#headers);
    this.#settle({ kind: 'lost', reason, status: this.#status ?? null, requestId });
  }

  #giveUp(controller: Dispatcher.DispatchController, reason: string): void {
    this.#fail(reason);
    controller.abort(new Error(reason));
  }
}
