import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { CrashPoint } from '../../src/pay/crash-point.ts';

export interface Order {
  readonly words: readonly string[];
  /** All that the command is given beside PATH and HOME. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder that it works in; that of the process unless told. */
  readonly cwd?: string | undefined;
  /** It pays as a worker does, until it is told to stop, in place of doing a command. */
  readonly works?: true | undefined;
  /** Where the process kills itself. */
  readonly diesAt?: CrashPoint | undefined;
}

/** Ends what one command writes, on standard output and error. */
export const END = '\0end of the command\0';

/** What became of a command: its exit code, or the signal that ended its process, and what it wrote. */
export interface Ended {
  readonly code: number | NodeJS.Signals;
  readonly stdout: string;
  readonly stderr: string;
}

/** A worker of payrun in a process of its own. */
export interface Working {
  readonly hasEnded: boolean;
  /** Lets it end what is in flight. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Processes that have loaded payrun, each free for the next command as soon as it has done one. */
export interface Clerks {
  run(order: Order): Promise<Ended>;
  work(env: Order['env']): Working;
  /** Those that live. */
  readonly all: ReadonlySet<ChildProcess>;
  /** Ends all of them at once. */
  killAll(): void;
}

interface Clerk {
  readonly child: ChildProcess;
  /** Written since the last command began. */
  readonly said: { stdout: string; stderr: string };
}

/** Clerks of the compiled source in this folder. */
export function openClerks(built: string): Clerks {
  const all = new Set<ChildProcess>();
  const idle: Clerk[] = [];

  function engage(): Clerk {
    const { PATH = '', HOME = '' } = process.env;
    const child = fork(join(built, 'test/support/clerk.js'), {
      env: { PATH, HOME },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    all.add(child);
    child.once('exit', () => all.delete(child));
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const) {
      child[name]?.setEncoding('utf8').on('data', (text: string) => {
        said[name] += text;
      });
    }
    return { child, said };
  }

  async function carryOut(clerk: Clerk, order: Order): Promise<Ended> {
    const { child, said } = clerk;
    Object.assign(said, { stdout: '', stderr: '' });
    const ended = new AbortController();
    const { signal } = ended;
    const carried = once(child, 'message', { signal }).then(([code]) => code as number);
    const died = once(child, 'close', { signal }).then(() => undefined);
    carried.catch(() => {});
    died.catch(() => {});
    child.send(order);
    const code = await Promise.race([carried, died]);
    ended.abort();
    if (code === undefined) return { code: child.signalCode ?? child.exitCode ?? -1, ...said };
    while (!said.stdout.endsWith(END) || !said.stderr.endsWith(END)) await setImmediate();
    idle.push(clerk);
    return { code, stdout: said.stdout.slice(0, -END.length), stderr: said.stderr.slice(0, -END.length) };
  }

  return {
    run: (order) => carryOut(idle.pop() ?? engage(), order),
    work(env) {
      const clerk = idle.pop() ?? engage();
      let hasEnded = false;
      const ended = carryOut(clerk, { words: [], env, works: true }).finally(() => {
        hasEnded = true;
      });
      return {
        get hasEnded() {
          return hasEnded;
        },
        async stop() {
          if (!hasEnded) clerk.child.send('stop');
          await ended;
        },
        async kill() {
          if (!hasEnded) clerk.child.kill('SIGKILL');
          await ended;
        },
      };
    },
    all,
    killAll() {
      for (const child of all) child.kill('SIGKILL');
    },
  };
}
