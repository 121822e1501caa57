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
  const { clock, sendBefore, timeoutMs, onSent } = limits;
  return new Promise((resolve) => {
    let sent = false;
    let settled = false;
    let response: { status: number; headers: ResponseHeaders } | undefined;
    let bodyBytes = 0;
    const chunks: Buffer[] = [];
    let timer = setTimeout(() => fail('deadline'), timerMs(sendBefore - clock.monotonic()));

    function settle(answer: Answer): void {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      resolve(answer);
    }
    function fail(reason: string, certificate = false): void {
      if (!sent) return settle(notSent(reason, certificate));
      const requestId = requestIdOf(response?.headers ?? {});
      settle({ kind: 'lost', reason, status: response?.status ?? null, requestId });
    }
    function giveUp(controller: Dispatcher.DispatchController, reason: string): void {
      fail(reason);
      controller.abort(new Error(reason));
    }

    pool.dispatch(
      { ...request, idempotent: false, headersTimeout: 0, bodyTimeout: 0 },
      {
        onRequestStart(controller) {
          if (sent) return giveUp(controller, 'would be sent twice');
          if (settled || clock.monotonic() >= sendBefore) return giveUp(controller, 'deadline');
          sent = true;
          clearTimeout(timer);
          timer = setTimeout(() => giveUp(controller, 'time-out'), timerMs(timeoutMs));
          onSent?.();
        },
        onResponseStart(_controller, status, headers) {
          if (status >= 200) response = { status, headers };
        },
        onResponseData(controller, chunk) {
          bodyBytes += chunk.length;
          if (bodyBytes > BODY_BYTES_MAX) return giveUp(controller, 'body too long');
          chunks.push(chunk);
        },
        onResponseEnd() {
          if (response === undefined) fail('no status');
          else settle(answerOf(response.status, response.headers, Buffer.concat(chunks)));
        },
        onResponseError(_controller, error) {
          const { reason, certificate } = failureOf(error);
          fail(reason, certificate);
        },
      },
    );
  });
}

function timerMs(ms: number): number {
  return Math.min(Math.max(0, ms), TIMER_MS_MAX);
}
