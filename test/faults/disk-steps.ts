import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Rig } from './rig.ts';

const KIBIBYTE = 1024;

/** A file system in memory. */
interface SmallDisk {
  readonly path: string;
  resize(kibibytes: number): void;
}

/**
 * Mounts a small disk on a folder for the time of the work. It is let go lazily: who has a file open there goes on with
 * it, and the folder below takes what comes later.
 */
export async function onSmallDisk(
  path: string,
  kibibytes: number,
  work: (disk: SmallDisk) => Promise<void>,
): Promise<void> {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const mount = (size: number, words: string): Buffer =>
    execFileSync('mount', ['-t', 'tmpfs', '-o', `${words}size=${size * KIBIBYTE},mode=700`, 'tmpfs', path]);
  mount(kibibytes, '');
  try {
    await work({ path, resize: (size) => void mount(size, 'remount,') });
  } finally {
    execFileSync('umount', ['-l', path]);
  }
}

/** Armings whose lines stand whole in the intent logs of a worker. */
export function intentLines(rig: Rig, name: string): number {
  const folder = join(rig.folder, name, 'intents');
  const texts = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  return texts.flatMap((text) => text.split('\n')).filter((line) => /"armingCounter".*\}$/.test(line)).length;
}

export function missingCompiler(): string | undefined {
  return spawnSync('cc', ['--version']).status === 0 ? undefined : 'needs a C compiler';
}

/** A library that is loaded before all others. */
function libraryOf(rig: Rig, name: string, text: string): string {
  const [source, library] = [join(rig.folder, `${name}.c`), join(rig.folder, `${name}.so`)];
  writeFileSync(source, text);
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, source, '-ldl']);
  return library;
}

/** A file system whose syncs fail of an intent log from a given call on, put before libc's. */
const FAILING_SYNC = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int left = -1;
static int fails(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  if (!strstr(path, "/intents/")) return 0;
  if (left < 0) left = atoi(getenv("SYNCS_THAT_WORK"));
  return left-- <= 0;
}
int fdatasync(int file) {
  if (fails(file)) { errno = EIO; return -1; }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}
int fsync(int file) {
  if (fails(file)) { errno = EIO; return -1; }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}
`;

/** Settings of a process whose syncs of its intent log fail after so many. */
export function failingSync(rig: Rig, works: number): Record<string, string> {
  return { LD_PRELOAD: libraryOf(rig, 'failing-sync', FAILING_SYNC), SYNCS_THAT_WORK: String(works) };
}

/** Notes for each sync how long the file was when it began, put before libc's. */
const NOTED_SYNC = `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static long long lengthOf(int file) {
  struct stat found;
  return fstat(file, &found) == 0 && S_ISREG(found.st_mode) ? (long long)found.st_size : -1;
}
static void note(int file, long long length) {
  char link[64], path[4096], line[4200];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (size < 0 || length < 0) return;
  path[size] = 0;
  int journal = open(getenv("SYNC_JOURNAL"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (journal < 0) return;
  if (write(journal, line, snprintf(line, sizeof line, "%lld %s\\n", length, path)) < 0) abort();
  close(journal);
}
#define NOTED(name) int name(int file) { \\
  long long length = lengthOf(file); \\
  int result = ((int (*)(int))dlsym(RTLD_NEXT, #name))(file); \\
  if (result == 0) note(file, length); \\
  return result; }
NOTED(fsync)
NOTED(fdatasync)
`;

/** Settings of a process that notes its syncs in a journal. */
export function notedSync(rig: Rig, journal: string): Record<string, string> {
  return { LD_PRELOAD: libraryOf(rig, 'noted-sync', NOTED_SYNC), SYNC_JOURNAL: journal };
}

/** Cuts each file to what was synced of it; gives how many files were looked at. */
export function losePower(journal: string): number {
  const synced = new Map<string, number>();
  for (const line of readFileSync(journal, 'utf8').trim().split('\n')) {
    const at = line.indexOf(' ');
    synced.set(line.slice(at + 1), Number.parseInt(line.slice(0, at), 10));
  }
  const logs = [...synced].filter(([path]) => /\/intents\/[^/]+\.log$|\.incr\.aof$/.test(path));
  for (const [path, length] of logs) truncateSync(path, length);
  return logs.length;
}

/** Starts the rig's Redis with further variables of its environment. */
export async function startedWith({ redis }: Rig, variables: Readonly<Record<string, string>>): Promise<void> {
  Object.assign(process.env, variables);
  const starting = redis.start();
  for (const name of Object.keys(variables)) Reflect.deleteProperty(process.env, name);
  await starting;
}
