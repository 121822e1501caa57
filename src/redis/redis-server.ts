import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { Refusal } from '../refusal.ts';

const run = promisify(execFile);
const FETCH_SECONDS_MAX = 300;
const OUTPUT_BYTES_MAX = 4 * 1024 * 1024;

/** A Redis or Valkey server that runs on this machine, and what its environment must hold. */
export interface RedisServer {
  /** Absolute path. */
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Fetches the distribution's own packages with its own package manager, which checks their hashes, and unpacks them
 * beside each other; nothing is installed. `$1` is the cache folder. One process at a time: whoever waited for the lock
 * finds the work done. The folder gets its name only when the server in it has run.
 */
const FETCH_SCRIPT = `
set -eu
cache=$1 server=$1/server building=$1/building.$$
runs() {
  LD_LIBRARY_PATH=$(printf '%s:' "$1"/usr/lib/*-linux-gnu* "$1"/lib/*-linux-gnu*)/nowhere \\
    "$1/usr/bin/redis-server" --version
}
apt() {
  apt-get -o Dir::State::Lists="$building/lists" -o Dir::Cache="$building/cache" -o Debug::NoLocking=1 \\
    -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Retries=2 \\
    -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 "$@"
}
exec 9>"$cache/lock"
flock 9
if runs "$server" 2>&1; then exit 0; fi
rm -rf "$cache"/building.*
trap 'rm -rf "$building"' EXIT
mkdir -p "$building/lists/partial" "$building/cache/archives/partial" "$building/debs" "$building/root"
# A source of this machine that cannot be read matters only if the packages are not found without it.
apt -q update || true
packages=$(apt -qq --print-uris --no-install-recommends -y install redis-server | sed -n "s/^'[^']*' \\([^_ ]*\\)_.*/\\1/p")
cd "$building/debs"
apt -q download $packages
for package in *.deb; do dpkg -x "$package" "$building/root"; done
runs "$building/root"
rm -rf "$server"
mv "$building/root" "$server"
`;

const INSTALL_LINES = [
  ['apt-get', 'sudo apt-get install redis-server'],
  ['dnf', 'sudo dnf install redis'],
  ['yum', 'sudo yum install redis'],
  ['zypper', 'sudo zypper install redis'],
  ['pacman', 'sudo pacman -S valkey'],
  ['apk', 'sudo apk add redis'],
  ['brew', 'brew install redis'],
] as const;

/**
 * A server for a private Redis: `redis-server` or `valkey-server` on the PATH, else (Debian and Ubuntu) the
 * distribution's packages, fetched without root into the cache folder, which is `payrun/redis` in `$XDG_CACHE_HOME` or
 * `~/.cache` when undefined. Says on `report` what takes its time. Throws a Refusal (unavailable) with the line that installs
 * one.
 */
export async function findRedisServer(
  cacheDir: string | undefined,
  report: (line: string) => void,
): Promise<RedisServer> {
  const installed = await findOnPath(['redis-server', 'valkey-server']);
  if (installed !== undefined) return { command: installed, env: {} };
  // A container by an engine that answers would be tried after the packages.
  return await fetchPackages(cacheDir ?? (await defaultCacheDir()), report);
}

/** The path of the first of these programs that the PATH has. */
export async function findOnPath(names: readonly string[]): Promise<string | undefined> {
  const script = 'for name; do command -v "$name" && break; done; true';
  const { stdout } = await run('/bin/sh', ['-c', script, 'sh', ...names]);
  const path = stdout.trim();
  return isAbsolute(path) ? path : undefined;
}

async function fetchPackages(cacheDir: string, report: (line: string) => void): Promise<RedisServer> {
  const fetched = await readFetched(cacheDir);
  if (fetched !== undefined) return fetched;
  if (process.platform !== 'linux' || (await findOnPath(['apt-get'])) === undefined || !existsSync('/usr/bin/dpkg')) {
    throw await refuseServer('There is no Redis on this machine.', undefined);
  }
  report(`There is no Redis on this machine: fetching the distribution's packages of it into ${cacheDir}`);
  try {
    mkdirSync(cacheDir, { recursive: true });
    await run('timeout', [String(FETCH_SECONDS_MAX), '/bin/sh', '-c', FETCH_SCRIPT, 'sh', cacheDir], {
      maxBuffer: OUTPUT_BYTES_MAX,
    });
  } catch (error) {
    const reason = lastLines(error);
    throw await refuseServer(
      `There is no Redis on this machine, and its packages cannot be fetched into ${cacheDir}: ${reason}`,
      error,
    );
  }
  const server = await readFetched(cacheDir);
  if (server === undefined) throw await refuseServer(`The Redis fetched into ${cacheDir} does not run.`, undefined);
  return server;
}

/** The server of an earlier fetch, if it still runs: a later release of the system may lack a library that it needs. */
async function readFetched(cacheDir: string): Promise<RedisServer | undefined> {
  const root = join(cacheDir, 'server');
  const command = join(root, 'usr/bin/redis-server');
  if (!existsSync(command)) return undefined;
  const env = { LD_LIBRARY_PATH: [...libraryDirs(join(root, 'usr/lib')), ...libraryDirs(join(root, 'lib'))].join(':') };
  try {
    await run(command, ['--version'], { env });
    return { command, env };
  } catch {
    return undefined;
  }
}

function libraryDirs(dir: string): string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .filter((name) => name.includes('-linux-gnu'))
    .map((name) => join(dir, name));
}

async function defaultCacheDir(): Promise<string> {
  const { stdout } = await run('/bin/sh', ['-c', 'printf %s "$XDG_CACHE_HOME"']);
  return join(isAbsolute(stdout) ? stdout : join(homedir(), '.cache'), 'payrun', 'redis');
}

async function refuseServer(message: string, cause: unknown): Promise<Refusal> {
  const found = await findOnPath(INSTALL_LINES.map(([manager]) => manager));
  const line = INSTALL_LINES.find(([manager]) => found?.endsWith(`/${manager}`) === true)?.[1];
  return new Refusal(
    message,
    line === undefined
      ? 'Install Redis 7 or later so that redis-server is on the PATH, or set REDIS_URL to a server.'
      : `Install one with: ${line} (or set REDIS_URL to a server).`,
    { kind: 'unavailable', cause },
  );
}

function lastLines(error: unknown): string {
  const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
  return stderr.trim().split('\n').slice(-3).join(' / ');
}
