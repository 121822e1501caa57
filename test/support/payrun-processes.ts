import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, inject } from 'vitest';
import { asTestStarts } from './as-test-starts.ts';
import { type Clerks, type Ended, openClerks } from './clerks.ts';

export type { Ended };

const POLL_MS = 10;

export const ROOT = resolve(import.meta.dirname, '../..');

export interface StartOptions {
  /** All that the process is given beside PATH and HOME. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Within the compiled source; payrun's own main unless told. */
  readonly main?: string;
  /** Words before the command, such as those that run it on another host. */
  readonly through?: readonly string[];
}

export interface Started {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  readonly hasEnded: boolean;
  kill(signal: NodeJS.Signals): void;
  /** Resolves when the text stands on standard output or error; rejects when the process ends without it. */
  said(text: string): Promise<void>;
  /** Standard output so far. */
  stdout(): string;
}

/** payrun as real processes, compiled from the present source, and all that they leave behind. */
export interface Processes extends ProcessesAlone {
  readonly clerks: Clerks;
}

export interface ProcessesAlone {
  /** The compiled source. */
  readonly built: string;
  /** A fresh folder on a disk: data directories of a real service may not lie in memory. */
  folder(): string;
  start(words: readonly string[], options?: StartOptions): Started;
  run(words: readonly string[], options?: StartOptions): Promise<Ended>;
  /**
   * The same for a command that ends soon and is not itself what is tested: a process does it that has loaded payrun for an
   * earlier one, which a start takes half a second of a processor for.
   */
  command(words: readonly string[], options?: Pick<StartOptions, 'env' | 'cwd'>): Promise<Ended>;
  /** Ends every process that was started here, their Redis servers too, and removes the folders. */
  remove(): Promise<void>;
}

/** Processes of the source that was compiled for this run of the tests, in a folder of their own inside the repository. */
export function buildProcesses(): Processes {
  const root = mkdtempSync(join(ROOT, `.tmp-e2e-${process.pid}-`));
  const built = inject('built');
  const running = new Set<ChildProcess>();
  const clerks = openClerks(built);
  const endAll = (): void => {
    clerks.killAll();
    for (const child of running) child.kill('SIGKILL');
    for (const pid of redisServersBelow(root)) process.kill(pid, 'SIGKILL');
  };
  process.once('exit', endAll);

  function start(words: readonly string[], options: StartOptions = {}): Started {
    const { env = {}, cwd = root, main = 'src/cli/main.js', through = [] } = options;
    const { PATH = '', HOME = '' } = process.env;
    const [program = '', ...args] = [...through, process.execPath, '--', join(built, main), ...asTestStarts(words)];
    const child = spawn(program, args, { cwd, env: { PATH, HOME, ...env } });
    running.add(child);
    child.once('exit', () => running.delete(child));
    return watchOver(child);
  }

  return {
    built,
    folder() {
      const folder = mkdtempSync(join(root, 'f-'));
      mkdirSync(join(folder, 'data'), { mode: 0o700 });
      return folder;
    },
    start,
    run: (words, options) => start(words, options).ended,
    command: (words, { env = {}, cwd = root } = {}) => clerks.run({ words, env, cwd }),
    clerks,
    async remove() {
      const gone = [...running, ...clerks.all].map((child) => once(child, 'exit'));
      endAll();
      process.off('exit', endAll);
      await Promise.all(gone);
      endAll();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

/** The same for all tests of a file; what they leave behind goes with its end. */
export function useProcesses(): Processes {
  const processes = buildProcesses();
  afterAll(() => processes.remove());
  return processes;
}

function watchOver(child: ChildProcessWithoutNullStreams): Started {
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  let hasEnded = false;
  const ended = once(child, 'close').then((): Ended => {
    hasEnded = true;
    return { code: child.signalCode ?? child.exitCode ?? -1, stdout, stderr };
  });
  return {
    pid: child.pid ?? -1,
    ended,
    get hasEnded() {
      return hasEnded;
    },
    kill: (signal) => void child.kill(signal),
    stdout: () => stdout,
    async said(text) {
      const isSaid = (): boolean => stdout.includes(text) || stderr.includes(text);
      while (!isSaid()) {
        if (hasEnded) throw new Error(`it ended without saying "${text}":\n${stdout}${stderr}`);
        await Promise.race([ended, delay(POLL_MS)]);
      }
    },
  };
}

/** Process ids of the private Redis servers whose data directories lie below a folder. */
export function redisServersBelow(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .filter((pid) => isRedisBelow(pid, folder));
}

function isRedisBelow(pid: number, folder: string): boolean {
  try {
    // The first word alone: the shell and the lock that become the server name it among theirs.
    const [program = ''] = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
    const place = readlinkSync(`/proc/${pid}/cwd`);
    // One that is only asked for its version works where its asker does.
    return (
      /^\S*(redis|valkey)-server( |$)/.test(program) && place.startsWith(`${folder}/`) && basename(place) === 'redis'
    );
  } catch {
    // It ended meanwhile, or is not ours to look at.
    return false;
  }
}
