import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { codeOf } from '../refusal.ts';

/** Database of the private Redis in which its users are written down; the ledger has database 0 for itself. */
export const USERS_DATABASE = 1;
const USERS_KEY = 'users';
const LEAVING_KEY = 'leaving';

/**
 * KEYS users, leaving; ARGV user, run id of the server. Returns 1, or 0 when the last user has left this very server and
 * nobody may come to it any more. The mark holds the server's run id because it outlives the server.
 */
const JOIN_SCRIPT = `
if redis.call('GET', KEYS[2]) == ARGV[2] then return 0 end
redis.call('SADD', KEYS[1], ARGV[1])
return 1`;

/** KEYS users, leaving; ARGV run id of the server, then the user and the dead ones. Returns 1 when nobody is left. */
const LEAVE_SCRIPT = `
for index = 2, #ARGV do redis.call('SREM', KEYS[1], ARGV[index]) end
if redis.call('SCARD', KEYS[1]) > 0 then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
return 1`;

const flag = z.union([z.literal(0), z.literal(1)]).transform((value) => value === 1);

/** What the connection of a user is called on the server, before the user's name. */
const CONNECTION = 'payrun-private:';

/**
 * A name for one use of the private Redis by this process: its id, when it started, what tells uses apart, and the namespace
 * that the id belongs to.
 */
export function newUser(): string {
  return `${process.pid}:${startOf(process.pid) ?? ''}:${randomUUID()}:${namespace()}`;
}

/** The name of the connection by which users in other namespaces see that this one lives. */
export function connectionOf(user: string): string {
  return `${CONNECTION}${user}`;
}

/** Writes the user down; false when this server is about to end. */
export async function joinServer(redis: Redis, user: string, runId: string): Promise<boolean> {
  return flag.parse(await redis.eval(JOIN_SCRIPT, 2, USERS_KEY, LEAVING_KEY, user, runId));
}

/** Strikes the user off, and those whose process is gone; true when nobody is left and the server is to be ended. */
export async function leaveServer(redis: Redis, user: string, runId: string): Promise<boolean> {
  const clients = String(await redis.client('LIST'));
  const isConnected = (other: string): boolean => clients.includes(` name=${connectionOf(other)} `);
  const dead = (await redis.smembers(USERS_KEY)).filter((other) => other !== user && !isAlive(other, isConnected));
  return flag.parse(await redis.eval(LEAVE_SCRIPT, 2, USERS_KEY, LEAVING_KEY, runId, user, ...dead));
}

/** In another namespace, such as a container's, a process cannot be seen: its user lives while it is connected. */
function isAlive(user: string, isConnected: (user: string) => boolean): boolean {
  const [id = '', start = '', , place = namespace()] = user.split(':');
  if (place !== namespace()) return isConnected(user);
  const pid = Number.parseInt(id, 10);
  return isRunning(pid) && (start === '' || start === startOf(pid));
}

/** Whether a process of this id runs; one that belongs to another user does. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** The namespace of this process's id, as `pid_namespaces(7)` numbers it; empty without /proc. */
function namespace(): string {
  try {
    return /[0-9]+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '';
  } catch {
    return '';
  }
}

/** When a process started, in the system's ticks since it booted; undefined without /proc, and for one that has ended. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // proc(5): after the name in brackets, which may hold anything, come state (field 3) and, as field 22, the start.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' || state === 'X' ? undefined : fields[18];
  } catch {
    return undefined;
  }
}
