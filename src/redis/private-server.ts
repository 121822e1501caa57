import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { codeOf, Refusal } from '../refusal.ts';
import { DURABLE_ARGUMENTS } from './durability.ts';
import type { PrivatePlace } from './private-place.ts';
import { isRunning } from './private-users.ts';
import { findOnPath, type RedisServer } from './redis-server.ts';

const run = promisify(execFile);
const LOCK_HELD_EXIT_CODE = 75;
const LOG_LINES_SHOWN = 8;
/** With less a server cannot start: it writes a log and a new file. */
const FREE_BYTES_MIN = 64 * 1024;

/**
 * How an attempt to start the server stands: `running` (it need not answer yet), `lock-held` by another, `ended` as it
 * should or by a signal, or `failed`.
 */
export type LaunchState = 'running' | 'lock-held' | 'ended' | 'failed';

export interface Launch {
  state(): LaunchState;
  /** What the server wrote into its log since this start. */
  logged(): string;
}

/**
 * Starts the server, in a process group of its own and so that it outlives us, if nobody else holds the data directory's
 * lock: a second server on one directory would start without complaint and both write one log. The server's
 * environment holds nothing of ours, for ours may hold secrets.
 */
export async function launchServer(place: PrivatePlace, server: RedisServer): Promise<Launch> {
  const flock = await findFlock();
  if (flock === undefined && !claimLockFile(place.lockFile, await isListening(place.socket)))
    return { state: () => 'lock-held', logged: () => '' };
  const lock = flock === undefined ? [] : [flock, '-n', '-E', String(LOCK_HELD_EXIT_CODE), '-F', place.lockFile];
  const log = openSync(place.logFile, 'a', 0o600);
  const logStart = fstatSync(log).size;
  const command = [...lock, server.command, ...serverArguments(place)];
  const child = spawn('/bin/sh', ['-c', 'umask 077 && exec "$@"', 'sh', ...command], {
    cwd: place.redisDir,
    detached: true,
    env: { ...server.env },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  if (flock === undefined && child.pid !== undefined) writeFileSync(place.lockFile, String(child.pid));
  let state: LaunchState = 'running';
  child.once('exit', (code) => {
    if (code === LOCK_HELD_EXIT_CODE) state = 'lock-held';
    else state = code === 0 || code === null ? 'ended' : 'failed';
  });
  child.once('error', () => {
    state = 'failed';
  });
  child.unref();
  return { state: () => state, logged: () => readFileSync(place.logFile).subarray(logStart).toString() };
}

/** Why the server did not start, with the end of its log, and how to fix its data where those are what it refuses. */
export function refuseStart(place: PrivatePlace, problem: string, damaged?: RedisServer): Refusal {
  const tail = readLogTail(place.logFile);
  return new Refusal(
    `The private Redis of ${place.dataDir} ${problem}. The end of ${place.logFile}:\n${tail}`,
    damaged === undefined
      ? 'Fix what the log names, or set REDIS_URL to another server.'
      : `Copy ${place.redisDir} to a safe place, then run: ${checkLine(place, damaged)}`,
    { kind: 'unavailable' },
  );
}

/** On a full disk its log ends anywhere. */
export function refuseFullDisk(place: PrivatePlace): Refusal {
  return new Refusal(
    `The private Redis of ${place.dataDir} does not start: its disk is full.`,
    `Make room on the disk of ${place.redisDir}.`,
    { kind: 'unavailable' },
  );
}

export function isDiskFull({ redisDir }: PrivatePlace): boolean {
  const { bavail, bsize } = statfsSync(redisDir);
  return bavail * bsize < FREE_BYTES_MIN;
}

/** Whether the log says that the server refuses its data, which the program it names can fix. */
export function refusesData(logged: string): boolean {
  return /(redis|valkey)-check-aof/.test(logged);
}

function checkLine(place: PrivatePlace, server: RedisServer): string {
  const library = server.env['LD_LIBRARY_PATH'];
  const check = join(
    dirname(server.command),
    server.command.endsWith('valkey-server') ? 'valkey-check-aof' : 'redis-check-aof',
  );
  const manifest = join(place.redisDir, 'appendonlydir', 'appendonly.aof.manifest');
  return `${library === undefined ? '' : `LD_LIBRARY_PATH='${library}' `}'${check}' --fix '${manifest}'`;
}

function readLogTail(logFile: string): string {
  try {
    return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-LOG_LINES_SHOWN).join('\n');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '(there is no log)';
    throw error;
  }
}

function serverArguments(place: PrivatePlace): string[] {
  const settings = {
    port: '0',
    unixsocket: place.socket,
    unixsocketperm: '700',
    dir: place.redisDir,
    pidfile: place.pidFile,
    daemonize: 'no',
    loglevel: 'warning',
    save: '',
    // The names that servers before 7 know too; later ones take them for hash-max-listpack-value and -entries.
    'hash-max-ziplist-value': '256',
    'hash-max-ziplist-entries': '512',
  };
  return [...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]), ...DURABLE_ARGUMENTS];
}

/** The path of a `flock` that can become the program it starts, so that the lock lasts as long as the server. */
async function findFlock(): Promise<string | undefined> {
  const flock = await findOnPath(['flock']);
  if (flock === undefined) return undefined;
  const { stdout, stderr } = await run(flock, ['--help']).catch(() => ({ stdout: '', stderr: '' }));
  return `${stdout}${stderr}`.includes('--no-fork') ? flock : undefined;
}

/**
 * Stands in for `flock` where there is none: a file that holds the server's process id, or ours until it has one. A file
 * whose process is gone is taken over; it is moved away first, so that only one taker can have moved it. While somebody
 * listens on the socket the process is one that cannot be seen from here, in another namespace.
 */
function claimLockFile(lockFile: string, isUsed: boolean): boolean {
  const claim = `${lockFile}.${process.pid}`;
  writeFileSync(claim, String(process.pid), { mode: 0o600 });
  try {
    if (linked(claim, lockFile)) return true;
    const holder = readFileSync(lockFile, 'utf8');
    if (isUsed || isRunning(Number.parseInt(holder, 10))) return false;
    const taken = `${claim}.taken`;
    renameSync(lockFile, taken);
    const stale = readFileSync(taken, 'utf8') === holder;
    if (!stale) linked(taken, lockFile);
    rmSync(taken);
    return stale && linked(claim, lockFile);
  } catch (error) {
    // Another process moved it between two of our steps: it is ahead of us.
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  } finally {
    rmSync(claim, { force: true });
  }
}

/** Whether a process has the socket, even one that does not answer. */
async function isListening(socket: string): Promise<boolean> {
  const connection = connect(socket);
  try {
    await once(connection, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    connection.destroy();
  }
}

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}
