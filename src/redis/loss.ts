import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { codeOf } from '../refusal.ts';

/** What a server says that cannot work now, or no longer lets us in. */
const REPLY =
  /^(LOADING|MISCONF|OOM|READONLY|MASTERDOWN|NOPERM|NOAUTH|WRONGPASS|NOREPLICAS|CLUSTERDOWN|MOVED|ASK|TRYAGAIN|BUSY) /;
/** What ioredis says when the server went away, or does not answer in time. */
const CLIENT = /^(Command timed out|Connection is closed\.?|Stream isn't writeable)/;

/** Whether it is Redis that failed: it went away, does not answer, or cannot work now. A wrong command is no loss. */
export function isRedisLoss(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { name, message } = error;
  if (name === 'MaxRetriesPerRequestError') return true;
  return name === 'ReplyError' ? REPLY.test(message) : CLIENT.test(message);
}

/** How often the same fault of the connections stands in the log while it lasts. */
const LOGGED_AGAIN_MS = 60_000;

/** Logs faults of the connections to Redis: they try again all the time, so the same one only now and then. */
export function openFaultLog({ log, clock }: { log: Log; clock: Pick<Clock, 'monotonic'> }): (error: Error) => void {
  let logged = { kind: '', at: 0 };
  return (error) => {
    const kind = codeOf(error) ?? error.message;
    const at = clock.monotonic();
    if (kind === logged.kind && at - logged.at < LOGGED_AGAIN_MS) return;
    logged = { kind, at };
    log.warn('the connection to Redis has a fault', { error });
  };
}
