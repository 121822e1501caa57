import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeFolder } from '../files.ts';
import { codeOf, IS_READ_ONLY, Refusal } from '../refusal.ts';

/** Systems take at most 104 to 108 bytes with the byte that ends them. */
const SOCKET_PATH_BYTES_MAX = 100;
const REDIS_FOLDER = 'redis';
const OTHERS_MODE = 0o077;

/** Where the private Redis of a data directory has its things (operation.md). */
export interface PrivatePlace {
  readonly dataDir: string;
  /** The server's own folder, mode 700. */
  readonly redisDir: string;
  /** In a folder of mode 700. */
  readonly socket: string;
  readonly pidFile: string;
  readonly lockFile: string;
  readonly logFile: string;
}

/** Whether a private Redis was ever started for the data directory. */
export function hadPrivateRedis(dataDir: string): boolean {
  return existsSync(join(dataDir, REDIS_FOLDER));
}

/**
 * The place, its folders made. The socket lies in the system's temporary directory where its path would be too long for
 * one; that folder's name follows from the data directory, so that every process finds it. Throws a Refusal (unavailable) for
 * folders that are not ours alone or cannot be made.
 */
export function preparePlace(dataDir: string): PrivatePlace {
  try {
    makeFolder(dataDir);
    const real = realpathSync(dataDir);
    const redisDir = join(real, REDIS_FOLDER);
    makeOwn(redisDir);
    return {
      dataDir: real,
      redisDir,
      socket: placeSocket(real, redisDir),
      pidFile: join(real, 'redis.pid'),
      lockFile: join(real, 'redis.lock'),
      logFile: join(real, 'redis.log'),
    };
  } catch (error) {
    if (error instanceof Refusal || codeOf(error) === undefined) throw error;
    throw new Refusal(
      `The private Redis cannot use ${dataDir}: ${codeOf(error) === 'EROFS' ? `it ${IS_READ_ONLY}` : codeOf(error)}`,
      'Give a data directory that this user may write to (PAYRUN_DATA_DIR), or set REDIS_URL.',
      { kind: 'unavailable', cause: error },
    );
  }
}

/** The process id that the server wrote into its file; undefined when there is none. */
export function readPid(place: PrivatePlace): string | undefined {
  try {
    return readFileSync(place.pidFile, 'utf8').trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function placeSocket(dataDir: string, redisDir: string): string {
  const near = join(redisDir, 'redis.sock');
  if (Buffer.byteLength(near) <= SOCKET_PATH_BYTES_MAX) return near;
  const name = createHash('sha256').update(dataDir).digest('hex').slice(0, 16);
  const far = join(tmpdir(), `payrun-${name}`);
  makeOwn(far);
  return join(far, 'redis.sock');
}

/** A folder that nobody else may look into. One that someone else made first, a link included, is refused. */
function makeOwn(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  const stat = lstatSync(path);
  const ours = stat.isDirectory() && stat.uid === process.getuid?.();
  if (ours && (stat.mode & OTHERS_MODE) === 0) return;
  throw new Refusal(
    `Others can use the folder ${path} of the private Redis`,
    ours ? `Run: chmod 700 ${path}` : 'Remove it, or run as its owner.',
    { kind: 'unavailable' },
  );
}
