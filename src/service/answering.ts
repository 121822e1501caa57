import type { Clock } from '../clock.ts';
import type { Answer } from './answer.ts';

/** A service that answers nothing for so long is said to be away; one slow answer or one failure is no outage. */
const FAILING_MS_MIN = 2000;
const SILENT_MS_MIN = 4000;

/** Whether the service answers, over all requests of this process; for people, and for nothing that is decided. */
export interface Answering {
  /** A request leaves; what it returns is told what became of it, and whether no payments service would answer so. */
  begin(): (answer: Answer, isOfStranger?: boolean) => void;
  /** Since when the service has answered nothing, in milliseconds since 1970; null while it answers. */
  awaySince(): number | null;
  /** What became of the latest request that was not answered, such as `ECONNREFUSED` or `HTTP 503`; null before the first. */
  lastFault(): string | null;
  /** Whether it ever answered this process. */
  hasAnswered(): boolean;
}

export function openAnswering(clock: Pick<Clock, 'now' | 'monotonic'>): Answering {
  const inFlight = new Set<{ readonly at: number }>();
  let failingFrom: number | undefined;
  let fault: string | null = null;
  let answeredAt = Number.NEGATIVE_INFINITY;

  function awayFrom(now: number): number | undefined {
    if (failingFrom !== undefined && now - failingFrom >= FAILING_MS_MIN) return failingFrom;
    const [oldest] = inFlight;
    if (oldest === undefined) return undefined;
    const silentFrom = Math.max(oldest.at, answeredAt);
    return now - silentFrom >= SILENT_MS_MIN ? silentFrom : undefined;
  }

  return {
    begin() {
      const request = { at: clock.monotonic() };
      inFlight.add(request);
      return (answer, isOfStranger = false) => {
        inFlight.delete(request);
        if (answer.kind === 'not-sent' && OUR_OWN.has(answer.reason)) return;
        if (answer.kind !== 'answered' || answer.status >= 500 || isOfStranger) {
          failingFrom ??= request.at;
          fault = answer.kind === 'answered' ? `HTTP ${answer.status}` : answer.reason;
          return;
        }
        failingFrom = undefined;
        answeredAt = clock.monotonic();
      };
    },
    lastFault: () => fault,
    hasAnswered: () => answeredAt > Number.NEGATIVE_INFINITY,
    awaySince() {
      const now = clock.monotonic();
      const from = awayFrom(now);
      return from === undefined ? null : Math.round(clock.now() - (now - from));
    },
  };
}

/** Requests that did not leave for a reason of ours. */
const OUR_OWN: ReadonlySet<string> = new Set(['closed', 'deadline', 'no token']);
