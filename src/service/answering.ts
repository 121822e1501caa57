import type { Clock } from '../clock.ts';
import type { Answer } from './answer.ts';
import type { Operation } from './client.ts';
import { isFailure, isOurOwn } from './outage.ts';

/** A service that answers nothing for so long is said to be away; one slow answer or one failure is no outage. */
const FAILING_MS_MIN = 2000;
const SILENT_MS_MIN = 4000;
/** The failure of one operation says nothing of now once it is so old. */
const FAILURE_MS_MAX = 30_000;

/** Operations that may fail alone, while the service answers others. */
const LOOKED_AT_ALONE = ['payment', 'quote', 'look-up'] as const satisfies readonly Operation[];
export type OperationAlone = (typeof LOOKED_AT_ALONE)[number];

/** What answers nothing: the service, or one of its operations. */
export interface Away {
  /** In milliseconds since 1970. */
  readonly since: number;
  /** Null: the service answers nothing at all. */
  readonly operation: OperationAlone | null;
  /** What became of the latest request that was not answered, such as `ECONNREFUSED` or `HTTP 503`; null before the first. */
  readonly fault: string | null;
}

/** Whether the service answers, over all requests of this process; for people, and for nothing that is decided. */
export interface Answering {
  /** A request leaves; what it returns is told what became of it, and whether no payments service would answer so. */
  begin(operation: Operation): (answer: Answer, isOfStranger?: boolean) => void;
  /** Null while it answers. */
  away(): Away | null;
  /** Whether it ever answered this process. */
  hasAnswered(): boolean;
}

export function openAnswering(clock: Pick<Clock, 'now' | 'monotonic'>): Answering {
  const service = openOutcomes(clock);
  const alone = LOOKED_AT_ALONE.map((operation) => ({ operation, outcomes: openOutcomes(clock) }));

  function awayWith(outcomes: Outcomes, operation: OperationAlone | null, from: number | undefined): Away | undefined {
    if (from === undefined) return undefined;
    return { since: Math.round(clock.now() - (clock.monotonic() - from)), operation, fault: outcomes.lastFault() };
  }

  return {
    begin(operation) {
      const own = alone.find((one) => one.operation === operation);
      const ends = [service.begin(operation), own?.outcomes.begin(operation)];
      return (answer, isOfStranger = false) => {
        for (const end of ends) end?.(answer, isOfStranger);
      };
    },
    hasAnswered: service.hasAnswered,
    away() {
      const whole = awayWith(service, null, service.silentFrom() ?? service.failingFrom());
      if (whole !== undefined) return whole;
      for (const { operation, outcomes } of alone) {
        const one = awayWith(outcomes, operation, outcomes.silentFrom() ?? outcomes.failingAgainFrom());
        if (one !== undefined) return one;
      }
      return null;
    },
  };
}

type Outcomes = ReturnType<typeof openOutcomes>;

/** What became of requests; times are those of `clock.monotonic()`. */
function openOutcomes(clock: Pick<Clock, 'monotonic'>) {
  const inFlight = new Set<{ readonly at: number }>();
  let failing: { readonly from: number; readonly latest: number } | undefined;
  let fault: string | null = null;
  let answeredAt = Number.NEGATIVE_INFINITY;
  return {
    begin(operation: Operation) {
      const request = { at: clock.monotonic() };
      inFlight.add(request);
      return (answer: Answer, isOfStranger: boolean): void => {
        inFlight.delete(request);
        if (isOurOwn(answer)) return;
        if (isOfStranger || isFailure(operation, answer)) {
          failing = { from: failing?.from ?? request.at, latest: clock.monotonic() };
          fault = faultOf(answer);
          return;
        }
        failing = undefined;
        answeredAt = clock.monotonic();
      };
    },
    lastFault: () => fault,
    hasAnswered: () => answeredAt > Number.NEGATIVE_INFINITY,
    /** From its first failure, where nothing was answered for a while since. */
    failingFrom: () =>
      failing !== undefined && clock.monotonic() - failing.from >= FAILING_MS_MIN ? failing.from : undefined,
    /** The same where it was asked all the while. */
    failingAgainFrom() {
      if (failing === undefined || failing.latest - failing.from < FAILING_MS_MIN) return undefined;
      return clock.monotonic() - failing.latest < FAILURE_MS_MAX ? failing.from : undefined;
    },
    /** From where a request waits for its answer too long and no other one was answered. */
    silentFrom() {
      const [oldest] = inFlight;
      if (oldest === undefined) return undefined;
      const from = Math.max(oldest.at, answeredAt);
      return clock.monotonic() - from >= SILENT_MS_MIN ? from : undefined;
    },
  };
}

function faultOf(answer: Answer): string {
  if (answer.kind !== 'answered') return answer.reason;
  return answer.isPage === true ? `HTTP ${answer.status} with a page` : `HTTP ${answer.status}`;
}
