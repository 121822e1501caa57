import { setTimeout as delay } from 'node:timers/promises';
import { Redis, type RedisOptions } from 'ioredis';
import { codeOf, Refusal } from '../refusal.ts';
import { isOverNetwork, type RedisAddress, readAddress } from './address.ts';

export type { RedisAddress } from './address.ts';

const CONNECT_MS_MAX = 10_000;
const COMMAND_MS_MAX = 30_000;
const ARMING_COMMAND_MS_MAX = 2_000;
/** A connection that answers nothing for so long is given up: its other end may be gone without a word. */
const SILENT_MS_MAX = 10_000;
/** Longer than BullMQ's blocking commands wait, 10 s. */
const SILENT_JOBS_MS_MAX = 12_000;
const RECONNECT_STEP_MS = 50;
const RECONNECT_MS_MAX = 2_000;
const REQUEST_RETRIES_MAX = 20;

/**
 * What a connection is for (engine-notes 23).
 * - `commands`: reading and producing; commands wait out a short loss.
 * - `arming`: fails fast; a command whose reply is lost is never sent again by the client, none waits for a connection.
 * - `jobs`: BullMQ workers, whose blocking commands wait for as long as it takes.
 */
export type ConnectionKind = 'commands' | 'arming' | 'jobs';

export interface ConnectOptions {
  /** Shown by `CLIENT LIST`. */
  readonly name: string;
  readonly kind: ConnectionKind;
  /** How long a command may wait for its reply; not for `jobs`. Default: 2 s for `arming`, 30 s for `commands`. */
  readonly commandTimeoutMs?: number;
  /** Told of each error once the connection has been made: losses, failed reconnects. */
  readonly onError?: (error: Error) => void;
}

/** What a server says that is not the primary, or not any more. */
const NOT_PRIMARY = /^READONLY/;
/** The same of one of several, which the others may have left behind. */
const NOT_THE_ONE = /^(READONLY|NOREPLICAS|MOVED|CLUSTERDOWN)/;

const BEHAVIOUR: Readonly<Record<ConnectionKind, RedisOptions>> = {
  commands: {
    maxRetriesPerRequest: REQUEST_RETRIES_MAX,
    commandTimeout: COMMAND_MS_MAX,
    socketTimeout: SILENT_MS_MAX,
  },
  arming: {
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    commandTimeout: ARMING_COMMAND_MS_MAX,
    socketTimeout: 2 * ARMING_COMMAND_MS_MAX,
  },
  jobs: { maxRetriesPerRequest: null, socketTimeout: SILENT_JOBS_MS_MAX },
};

/** Remedies by what the failure's code or text begins with or holds; the first that fits. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/NOAUTH|WRONGPASS|invalid password/i, 'Correct the user and password in REDIS_URL.'],
  [/NOPERM/, 'Give the user of REDIS_URL the commands that payrun needs.'],
  [/LOADING/, 'The server is still loading its data: try again when it is done.'],
  [/DB index|cluster mode/i, 'Correct the database number in REDIS_URL.'],
  [/CERT|self.signed|SSL|TLS|altnames/i, 'Make its certificate trusted (NODE_EXTRA_CA_CERTS), or correct REDIS_URL.'],
];
const REMEDY_OTHERWISE =
  'Start that server or correct REDIS_URL, then give the same command again; workers go on by themselves. Without REDIS_URL payrun would start a ' +
  'private Redis, which holds another ledger.';

/**
 * A connection that has answered a ping. It reconnects in the background after a loss, whatever its kind. Throws a
 * Refusal: `unavailable` when the server cannot be reached within 10 s or lets us not in, `usage` when the address is wrong;
 * neither shows a password.
 */
export async function connectRedis(address: RedisAddress, options: ConnectOptions): Promise<Redis> {
  const { options: endpoint, shown, isOneOfSeveral } = readAddress(address);
  const notThisOne = isOneOfSeveral ? NOT_THE_ONE : NOT_PRIMARY;
  const redis = withoutFaults(
    new Redis({
      connectTimeout: CONNECT_MS_MAX,
      ...endpoint,
      ...BEHAVIOUR[options.kind],
      ...timeoutsOf(options),
      connectionName: options.name,
      lazyConnect: true,
      disableClientInfo: true,
      retryStrategy: (attempt) => Math.min(attempt * RECONNECT_STEP_MS, RECONNECT_MS_MAX),
      // After a failover the old master stays connected as a replica and refuses every write until one reconnects.
      reconnectOnError: (error) => notThisOne.test(error.message),
    }),
  );
  let connected = false;
  let lastError: Error | undefined;
  redis.on('error', (error: Error) => {
    lastError = withoutCommand(error);
    if (connected) options.onError?.(lastError);
  });
  try {
    await within(CONNECT_MS_MAX, () => greet(redis));
    if (lastError !== undefined) throw lastError;
    connected = true;
    return redis;
  } catch (error) {
    redis.disconnect();
    throw refuseConnection(shown, lastError ?? error);
  }
}

/**
 * Whether the server gives an answer to who names no user and no password. Only one over the network is asked, another
 * process of this host's loopback included: a password in our own address does not say that the server wants one. Throws
 * a Refusal (unavailable) when it does not answer.
 */
export async function letsAnybodyIn(address: RedisAddress): Promise<boolean> {
  if (!isOverNetwork(address)) return false;
  const { options, shown } = readAddress(address);
  const { username: _user, password: _password, ...open } = options;
  const redis = new Redis({
    connectTimeout: CONNECT_MS_MAX,
    ...open,
    ...BEHAVIOUR.commands,
    db: 0,
    lazyConnect: true,
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: null,
  });
  redis.on('error', () => {});
  try {
    await within(CONNECT_MS_MAX, () => greet(redis));
    return true;
  } catch (error) {
    if (error instanceof Error && /^(NOAUTH|NOPERM)/.test(error.message)) return false;
    throw refuseConnection(shown, error);
  } finally {
    redis.disconnect();
  }
}

/** Works around two faults of ioredis 5. BullMQ's workers block on duplicates of what they are given. */
function withoutFaults(redis: Redis): Redis {
  stopStaleTimer(redis);
  rejectForgotten(redis);
  const duplicate = redis.duplicate.bind(redis);
  redis.duplicate = (override) => withoutFaults(duplicate(override));
  return redis;
}

/** The timer of `socketTimeout` is kept when a connection is lost, and then cuts the next one, again and again (its issue 2147, fixed in 6.0). */
function stopStaleTimer(redis: Redis): void {
  redis.on('close', () => {
    const timer: unknown = Reflect.get(redis, STALE_TIMER);
    if (isTimer(timer)) clearTimeout(timer);
    Reflect.set(redis, STALE_TIMER, undefined);
  });
}

/**
 * What a server answers while it loads, such as TIME, is sent before a connection is ready. When that connection is lost, these
 * commands are neither sent again nor rejected: who waits for them waits for ever.
 */
function rejectForgotten(redis: Redis): void {
  const reset: unknown = Reflect.get(redis, RESET);
  if (typeof reset !== 'function') throw new Error(`ioredis has no ${RESET} any more`);
  Reflect.set(redis, RESET, () => {
    const sent = redis['commandQueue'];
    // Those that were sent on a connection that was ready are sent again on the next one.
    const isSentAgain = sent === Reflect.get(redis, 'prevCommandQueue');
    const forgotten = isSentAgain ? [] : sent.toArray();
    Reflect.apply(reset, redis, []);
    for (const { command } of forgotten) command.reject(new Error(LOST));
  });
}

const RESET = 'resetCommandQueue';
/** As ioredis says it itself (src/redis/loss.ts). */
const LOST = 'Connection is closed.';
const STALE_TIMER = 'socketTimeoutTimer';

function isTimer(value: unknown): value is NodeJS.Timeout {
  return typeof value === 'object' && value !== null && 'hasRef' in value;
}

/** An arming connection that stays silent is given up soon: no unanswered arming counts. */
function timeoutsOf({ kind, commandTimeoutMs }: ConnectOptions): RedisOptions {
  if (commandTimeoutMs === undefined || kind === 'jobs') return {};
  return kind === 'arming'
    ? { commandTimeout: commandTimeoutMs, socketTimeout: 2 * commandTimeoutMs }
    : { commandTimeout: commandTimeoutMs };
}

async function greet(redis: Redis): Promise<void> {
  await redis.connect();
  await redis.ping();
}

async function within(limitMs: number, work: () => Promise<void>): Promise<void> {
  const done = new AbortController();
  const late = delay(limitMs, undefined, { signal: done.signal }).then(() => {
    throw new Error(`no answer within ${limitMs} ms`);
  });
  try {
    await Promise.race([work(), late]);
  } finally {
    done.abort();
  }
}

/** A refused AUTH comes with its command, and so with the password. */
function withoutCommand(error: Error): Error {
  return 'command' in error ? new Error(error.message) : error;
}

function refuseConnection(shown: string, cause: unknown): Refusal {
  const code = codeOf(cause);
  const text = cause instanceof Error && cause.message !== '' ? cause.message : (code ?? 'no answer');
  return new Refusal(
    `Redis at ${shown} cannot be used: ${text}`,
    REMEDIES.find(([sign]) => sign.test(`${code} ${text}`))?.[1] ?? REMEDY_OTHERWISE,
    { kind: 'unavailable', cause },
  );
}
