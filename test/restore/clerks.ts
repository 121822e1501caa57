import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Processes } from '../support/payrun-processes.ts';
import type { Carried, Order } from './clerk.ts';

/** A worker of payrun in a process of its own. */
export interface Working {
  readonly hasEnded: boolean;
  /** Lets it end what is in flight. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Processes that have loaded payrun, each free for the next command as soon as it has done one. */
export interface Clerks {
  /** What became of the command; undefined when its process was killed over it. */
  run(order: Order): Promise<Carried | undefined>;
  work(env: Order['env']): Working;
  close(): Promise<void>;
}

export function openClerks(processes: Processes): Clerks {
  const all = new Set<ChildProcess>();
  const idle: ChildProcess[] = [];
  const killAll = (): void => {
    for (const clerk of all) clerk.kill('SIGKILL');
  };
  process.once('exit', killAll);

  function engage(): ChildProcess {
    const { PATH = '', HOME = '' } = process.env;
    const clerk = fork(join(processes.built, 'test/restore/clerk.js'), {
      env: { PATH, HOME },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    all.add(clerk);
    clerk.once('exit', () => all.delete(clerk));
    return clerk;
  }

  async function carryOut(clerk: ChildProcess, order: Order): Promise<Carried | undefined> {
    const ended = new AbortController();
    const { signal } = ended;
    const carried = once(clerk, 'message', { signal }).then(([message]) => message as Carried);
    const died = once(clerk, 'exit', { signal }).then(() => undefined);
    carried.catch(() => {});
    died.catch(() => {});
    clerk.send(order);
    const became = await Promise.race([carried, died]);
    ended.abort();
    if (became !== undefined) idle.push(clerk);
    return became;
  }

  return {
    run: (order) => carryOut(idle.pop() ?? engage(), order),
    work(env) {
      const clerk = idle.pop() ?? engage();
      let hasEnded = false;
      const ended = carryOut(clerk, { words: ['worker'], env }).finally(() => {
        hasEnded = true;
      });
      return {
        get hasEnded() {
          return hasEnded;
        },
        async stop() {
          if (!hasEnded) clerk.send('stop');
          await ended;
        },
        async kill() {
          if (!hasEnded) clerk.kill('SIGKILL');
          await ended;
        },
      };
    },
    async close() {
      const gone = [...all].map((clerk) => once(clerk, 'exit'));
      killAll();
      process.off('exit', killAll);
      await Promise.all(gone);
    },
  };
}
