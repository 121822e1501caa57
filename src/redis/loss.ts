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
