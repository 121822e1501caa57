import { existsSync } from 'node:fs';
import { Redis } from 'ioredis';
import type { Clock } from '../clock.ts';
import { releaseAtOnce } from '../closing.ts';
import { codeOf, Refusal } from '../refusal.ts';
import { infoFields } from './durability.ts';
import { type PrivatePlace, preparePlace, readPid } from './private-place.ts';
import { isDiskFull, type Launch, launchServer, refuseFullDisk, refuseStart, refusesData } from './private-server.ts';
import { connectionOf, joinServer, leaveServer, newUser, USERS_DATABASE } from './private-users.ts';
import { findRedisServer, type RedisServer } from './redis-server.ts';

const START_MS_MAX = 15_000;
/** So long a socket may be away of a server that lives: while it starts or ends. */
const HIDDEN_MS_MAX = 2000;
const LOADING_MS_MAX = 10 * 60_000;
const POLL_MS_MIN = 10;
const POLL_MS_MAX = 250;
const COMMAND_MS_MAX = 5_000;
const REVIVE_MS = 1_000;
const SILENT_SECONDS = 3;
/** A server that ends sooner is still in the same trouble, and of that everything has been told. */
const STEADY_MS = 60_000;

/** The Redis that payrun runs for a data directory when it is given none. */
export interface PrivateRedis {
  /** Path of its unix socket; the same after the server had to be started again. */
  readonly socket: string;
  /** Ends this use of it; the last user's close ends the server. May be called twice. */
  close(): Promise<void>;
}

export interface PrivateRedisOptions {
  /** Told, in words for people, of what takes its time or goes wrong. */
  readonly report: (line: string) => void;
  readonly clock: Clock;
  /** Where a fetched server is kept; see `findRedisServer`. */
  readonly cacheDir?: string;
}

/** A connection to the server on which this use of it is written down; its end tells that the server went away. */
interface Seat {
  readonly redis: Redis;
  readonly runId: string;
}

interface Opening {
  readonly place: PrivatePlace;
  readonly user: string;
  readonly options: PrivateRedisOptions;
  readonly stopped: AbortSignal;
}

/**
 * The private Redis of a data directory: the one that is running, or one started under the directory's lock.
 * If it vanishes while it is in use, it is started again. Throws a Refusal (unavailable) with the end of the server's log when
 * it neither starts nor answers, and names what fixes damaged data.
 */
export async function openPrivateRedis(dataDir: string, options: PrivateRedisOptions): Promise<PrivateRedis> {
  const place = preparePlace(dataDir);
  const stop = new AbortController();
  const opening: Opening = { place, user: newUser(), options, stopped: stop.signal };
  const seating = takeSeat(opening);
  let seat: Seat;
  let seatedAt = Number.NEGATIVE_INFINITY;
  const told = new Set<string>();
  let reviving = Promise.resolve();
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= leave());
  // The server would outlive this process.
  const isClosed = releaseAtOnce(close);

  const watch = (): void => {
    seat.redis.once('end', () => {
      if (!stop.signal.aborted) reviving = revive();
    });
  };
  const revive = async (): Promise<void> => {
    if (options.clock.monotonic() - seatedAt > STEADY_MS) told.clear();
    tellOnce('The private Redis went away; it is being started again.', { told, opening });
    const revived = await takeSeatAgain(opening, told);
    if (revived === undefined) return;
    seat = revived;
    seatedAt = options.clock.monotonic();
    watch();
  };
  const leave = async (): Promise<void> => {
    stop.abort();
    await seating;
    await reviving;
    // Without a seat, because the server went away just now, this use is still written down in what it restores.
    const last = seat.redis.status === 'ready' ? seat : await knock(opening);
    if (typeof last === 'object') await leaveSeat(last, opening);
    isClosed();
  };
  try {
    seat = await seating;
  } catch (error) {
    isClosed();
    throw error;
  }
  watch();
  return { socket: place.socket, close };
}

/** Tries until it has a seat, for a full disk may be cleared while we wait; undefined once this use has ended. */
async function takeSeatAgain(opening: Opening, told: Set<string>): Promise<Seat | undefined> {
  const { clock } = opening.options;
  while (!opening.stopped.aborted) {
    try {
      return await takeSeat(opening);
    } catch (error) {
      tellOnce(error instanceof Refusal ? `${error.message}\n${error.remedy}` : String(error), { told, opening });
    }
    await clock.sleep(REVIVE_MS, opening.stopped);
  }
  return undefined;
}

function tellOnce(line: string, { told, opening }: { told: Set<string>; opening: Opening }): void {
  if (told.has(line) || opening.stopped.aborted) return;
  told.add(line);
  opening.options.report(line);
}

/** A server that hangs is told of before we give it up. One that is started or fetched says so by itself. */
async function takeSeat(opening: Opening): Promise<Seat> {
  if (!existsSync(opening.place.socket)) return await waitForSeat(opening);
  const answered = new AbortController();
  void tellSilence(opening, answered.signal);
  try {
    return await waitForSeat(opening);
  } finally {
    answered.abort();
  }
}

async function tellSilence({ place, options }: Opening, answered: AbortSignal): Promise<void> {
  await options.clock.sleep(SILENT_SECONDS * 1000, answered);
  if (answered.aborted) return;
  options.report(`The private Redis of ${place.dataDir} has not answered for ${SILENT_SECONDS} s; payrun still waits.`);
}

/** Ends early once this use has ended, but not over a server that we started and that nobody else may know of. */
async function waitForSeat(opening: Opening): Promise<Seat> {
  const { place, options, stopped } = opening;
  const { clock } = options;
  const began = clock.monotonic();
  let server: RedisServer | undefined;
  let launch: Launch | undefined;
  const requireLaunch = openLaunchCheck(opening);
  const going = (): boolean => !stopped.aborted || launch?.state() === 'running';
  for (let pauseMs = POLL_MS_MIN; going(); pauseMs = Math.min(2 * pauseMs, POLL_MS_MAX)) {
    const answer = await knock(opening);
    if (typeof answer === 'object') return answer;
    if (answer === 'absent' && launch?.state() !== 'running') {
      server ??= await findRedisServer(options.cacheDir, options.report);
      requireLaunch(launch, server);
      if (stopped.aborted) break;
      launch = await launchServer(place, server);
    }
    if (clock.monotonic() - began > (answer === 'loading' ? LOADING_MS_MAX : START_MS_MAX)) {
      throw refuseSilent(place);
    }
    await clock.sleep(pauseMs);
  }
  throw new Error('the private Redis was closed while it was being started');
}

/** The process of the server that the place's file names, while it lives. */
function livingServer(place: PrivatePlace): number | undefined {
  const pid = Number.parseInt(readPid(place) ?? '', 10);
  try {
    return pid > 0 && process.kill(pid, 0) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** What to do about a server that runs and that nobody can reach any more; undefined where none does. */
function refuseHidden(place: PrivatePlace): Refusal | undefined {
  const pid = existsSync(place.socket) ? undefined : livingServer(place);
  if (pid === undefined) return undefined;
  return new Refusal(
    `The private Redis of ${place.dataDir} runs as process ${pid}, and its socket ${place.socket} is gone.`,
    `End it, then start the same command again: kill ${pid}. It writes its data before it ends.`,
    { kind: 'unavailable' },
  );
}

/** Throws a Refusal after a start that failed, and once the socket of a server that lives has been away for too long to come back. */
function openLaunchCheck({ place, options }: Opening): (launch: Launch | undefined, server: RedisServer) => void {
  let hiddenAt: number | undefined;
  return (launch, server) => {
    if (launch?.state() === 'failed') throw refuseLaunch(place, launch, server);
    if (launch?.state() !== 'lock-held') return;
    const now = options.clock.monotonic();
    const hidden = refuseHidden(place);
    if (hidden === undefined) hiddenAt = undefined;
    else if (now - (hiddenAt ??= now) > HIDDEN_MS_MAX) throw hidden;
  };
}

function refuseSilent(place: PrivatePlace): Refusal {
  return refuseHidden(place) ?? refuseStart(place, `does not answer on ${place.socket}`);
}

function refuseLaunch(place: PrivatePlace, launch: Launch, server: RedisServer): Refusal {
  const hidden = refuseHidden(place);
  if (hidden !== undefined) return hidden;
  if (isDiskFull(place)) return refuseFullDisk(place);
  if (refusesData(launch.logged())) return refuseStart(place, 'refuses its data: they are damaged', server);
  return refuseStart(place, 'does not start');
}

/**
 * A seat, if the server of this place answers and stays: `absent` when nothing answers, `loading` when it is still reading
 * its data, `leaving` when its last user has left; then it is ended once more, for that user may have died over it.
 */
async function knock(opening: Opening): Promise<Seat | 'absent' | 'loading' | 'leaving'> {
  const redis = connectWatch(opening);
  let refused: unknown;
  redis.on('error', (error) => {
    refused = error;
  });
  try {
    await redis.connect();
    const info = infoFields(await redis.info());
    const runId = info.get('run_id') ?? '';
    // Something else that answers there is not ours to talk to (engine-notes 24).
    if (info.get('process_id') !== readPid(opening.place)) return drop(redis, 'absent');
    if (info.get('loading') !== '0') return drop(redis, 'loading');
    if (await joinServer(redis, opening.user, runId)) return { redis, runId };
    await shutDown(redis, opening.options.clock);
    return drop(redis, 'leaving');
  } catch {
    redis.disconnect();
    if (codeOf(refused) !== 'EACCES') return 'absent';
    throw new Refusal(
      `The private Redis at ${opening.place.socket} belongs to another user`,
      'Run as that user: the ledger is in this data directory.',
      { kind: 'unavailable', cause: refused },
    );
  }
}

function drop<const T>(redis: Redis, answer: T): T {
  redis.disconnect();
  return answer;
}

function connectWatch({ place, user }: Opening): Redis {
  return new Redis({
    path: place.socket,
    db: USERS_DATABASE,
    connectionName: connectionOf(user),
    lazyConnect: true,
    disableClientInfo: true,
    enableReadyCheck: false,
    retryStrategy: null,
    connectTimeout: COMMAND_MS_MAX,
    commandTimeout: COMMAND_MS_MAX,
  });
}

async function leaveSeat({ redis, runId }: Seat, { user, options }: Opening): Promise<void> {
  try {
    if (await leaveServer(redis, user, runId)) await shutDown(redis, options.clock);
  } catch (error) {
    // A server that vanished meanwhile needs no leave; the next one finds this user's process gone.
    options.report(`The private Redis could not be notified that it is no longer needed: ${String(error)}`);
  } finally {
    redis.disconnect();
  }
}

/** Ends the server and waits until it is gone; its log is synced before. */
async function shutDown(redis: Redis, clock: Clock): Promise<void> {
  const waited = new AbortController();
  const ended = new Promise((resolve) => {
    redis.once('end', resolve);
  });
  // No reply comes when all goes well, only the end of the connection.
  redis.shutdown('NOSAVE').catch(() => {});
  await Promise.race([ended, clock.sleep(COMMAND_MS_MAX, waited.signal)]);
  waited.abort();
}
