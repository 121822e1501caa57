import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import type { Clock } from '../../clock.ts';
import { infoFields } from '../../redis/durability.ts';
import { codeOf, Refusal } from '../../refusal.ts';

const SAVE_MS_MAX = 60 * 60_000;
const POLL_MS = 100;

/** Where a server keeps its files, as it says. */
export interface RedisFiles {
  /** Of a snapshot (`BGSAVE`), on the server's host. */
  readonly snapshot: string;
  /** Paths below the server's folder by which it is started from a snapshot alone. */
  readonly base: string;
  /** Undefined for servers before 7, whose log is one file. */
  readonly manifest: { readonly path: string; readonly text: string } | undefined;
}

/** Throws a Refusal for a server that does not tell. */
export async function readRedisFiles(redis: Redis): Promise<RedisFiles> {
  const setting = async (name: string): Promise<string | undefined> => {
    const reply: unknown = await redis.config('GET', name);
    return Array.isArray(reply) && typeof reply[1] === 'string' ? reply[1] : undefined;
  };
  try {
    const names = ['dir', 'dbfilename', 'appendfilename', 'appenddirname'];
    const [dir = '', snapshot = '', log = '', logFolder] = await Promise.all(names.map(setting));
    const path = join(dir, snapshot);
    if (logFolder === undefined) return { snapshot: path, base: log, manifest: undefined };
    const base = `${log}.1.base.rdb`;
    const manifest = { path: join(logFolder, `${log}.manifest`), text: `file ${base} seq 1 type b\n` };
    return { snapshot: path, base: join(logFolder, base), manifest };
  } catch (cause) {
    throw new Refusal(
      `Redis does not show where its files are: ${cause instanceof Error ? cause.message : ''}`,
      'Allow the user of REDIS_URL the command CONFIG GET (ACL: +config|get), or copy Redis on its own host.',
      { cause },
    );
  }
}

/**
 * Lets the server write a snapshot: all that it holds at one moment, as one file. False when that file is not to be seen
 * here, because the server is on another host. Throws a Refusal (unavailable) when the server fails to write it.
 */
export async function saveSnapshot(redis: Redis, { snapshot }: RedisFiles, clock: Clock): Promise<boolean> {
  const before = await fileMark(snapshot);
  const started = clock.monotonic();
  const inTime = (): boolean => clock.monotonic() - started < SAVE_MS_MAX;
  let began = false;
  while (inTime()) {
    const info = infoFields(await redis.info('persistence'));
    const isBusy = info.get('rdb_bgsave_in_progress') !== '0' || info.get('aof_rewrite_in_progress') !== '0';
    if (began && info.get('rdb_bgsave_in_progress') === '0') {
      if (info.get('rdb_last_bgsave_status') !== 'ok') throw refuseSave('it failed');
      // A file that is as it was belongs to another server, whose folder has the same name on this host.
      const after = await fileMark(snapshot);
      return after !== undefined && after !== before;
    }
    if (!began && !isBusy) began = await beginSave(redis);
    await clock.sleep(POLL_MS);
  }
  throw refuseSave('it takes too long');
}

/** False when the server began to write something else in between. */
async function beginSave(redis: Redis): Promise<boolean> {
  try {
    await redis.bgsave();
    return true;
  } catch (error) {
    if (error instanceof Error && /in progress/i.test(error.message)) return false;
    throw refuseSave(error instanceof Error ? error.message : String(error));
  }
}

async function fileMark(path: string): Promise<string | undefined> {
  try {
    const { ino, mtimeMs } = await stat(path);
    return `${ino} ${mtimeMs}`;
  } catch (error) {
    if (['ENOENT', 'EACCES', 'ENOTDIR'].includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}

function refuseSave(why: string): Refusal {
  return new Refusal(
    `Redis did not save its data: ${why}.`,
    'Check its log, and whether its disk has room for a second copy of all its data. Then try again.',
    { kind: 'unavailable' },
  );
}
