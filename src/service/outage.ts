import type { Clock, Random } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Answer } from './answer.ts';
import type { Operation } from './client.ts';

/** Requests that fail one after the other before the service counts as away. */
const FAILURES_MAX = 6;
const WAIT_MS_MIN = 500;
/** A service that is back is noticed within it, and so what waited settles in time. */
const WAIT_MS_MAX = 8000;
/** Those who waited start again spread over this long, so that its return brings no storm. */
const RETURN_SPREAD_MS = 1000;

/**
 * Waits for a service that is away: after some failures in a row one request at a time tries whether it is back, each
 * after a longer, jittered wait; everybody else waits for what becomes of it. So an outage costs few requests.
 */
export interface Outage {
  /** Sends when the service is there, or when it is this request's turn to try. */
  through(operation: Operation, send: () => Promise<Answer>): Promise<Answer>;
  /** Learns from a request that did not wait. */
  saw(operation: Operation, answer: Answer): void;
  /** Waits while nobody may even try. */
  waitedOut(): Promise<void>;
  isAway(): boolean;
}

export function openOutage(deps: { clock: Clock; random: Random; log: Log; signal: AbortSignal }): Outage {
  const { clock, random, log, signal } = deps;
  let failures = 0;
  let waits = 0;
  let triesFrom = 0;
  let isTried = false;
  let change = new AbortController();

  const isAway = (): boolean => failures >= FAILURES_MAX;

  function wakeAll(): void {
    change.abort();
    change = new AbortController();
  }

  function waitLonger(): void {
    const full = Math.min(WAIT_MS_MIN * 2 ** Math.min(waits, 10), WAIT_MS_MAX);
    triesFrom = clock.monotonic() + full / 2 + (full / 2) * random.fraction();
    waits += 1;
  }

  function saw(operation: Operation, answer: Answer): void {
    if (!isFailure(operation, answer)) {
      const wasAway = isAway();
      failures = 0;
      waits = 0;
      if (!wasAway) return;
      log.warn('the service answers again');
      wakeAll();
      return;
    }
    failures += 1;
    if (failures !== FAILURES_MAX) return;
    waitLonger();
    log.warn('the service does not answer: one request at a time tries whether it is back');
  }

  /** True for the one who tries; false when the service is there. */
  async function turn(): Promise<boolean> {
    let waited = false;
    while (isAway() && !signal.aborted) {
      const ms = triesFrom - clock.monotonic();
      if (ms <= 0 && !isTried) {
        isTried = true;
        return true;
      }
      waited = true;
      await clock.sleep(isTried ? WAIT_MS_MAX : ms, AbortSignal.any([change.signal, signal]));
    }
    if (waited) await clock.sleep(random.fraction() * RETURN_SPREAD_MS, signal);
    return false;
  }

  return {
    isAway,
    saw,
    async waitedOut() {
      if (isAway()) await clock.sleep(triesFrom - clock.monotonic(), signal);
    },
    async through(operation, send) {
      const tries = isAway() && (await turn());
      const answer = await send();
      saw(operation, answer);
      if (!tries) return answer;
      isTried = false;
      if (isAway()) waitLonger();
      wakeAll();
      return answer;
    },
  };
}

/** Whether the answer is that of a service which is away or broken as a whole, or of a gateway in its place. */
export function isFailure(operation: Operation, answer: Answer): boolean {
  if (answer.kind !== 'answered') return !isOurOwn(answer);
  return answer.status >= 500 || (answer.isPage === true && !mayBeItsWord(operation, answer.status));
}

/** What a page says as well as an error body does: who may do what, "too many", and that there is no such payment. */
function mayBeItsWord(operation: Operation, status: number): boolean {
  return [401, 402, 403, 429].includes(status) || (operation === 'look-up' && status === 404);
}

/** A request that did not leave for a reason of ours. */
export function isOurOwn(answer: Answer): boolean {
  return answer.kind === 'not-sent' && ['closed', 'deadline', 'no token'].includes(answer.reason);
}
