import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A process of the benchmark that is told and asked by messages. */
export interface Child {
  readonly pid: number;
  /** Sends a message and gives the next one that comes back. Rejects when the process ends before. */
  ask<Answer>(message: object): Promise<Answer>;
  /** The next message that it sends by itself. */
  told<Answer>(): Promise<Answer>;
  stop(): Promise<void>;
}

/** Starts a module that lies beside this one. */
export function startChild(
  name: string,
  words: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Child {
  const { PATH = '', HOME = '' } = process.env;
  const child = fork(join(import.meta.dirname, `${name}.js`), [...words], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const told = async <Answer>(): Promise<Answer> => await nextMessage<Answer>(child, name);
  return {
    pid: child.pid ?? -1,
    told,
    async ask(message) {
      const answer = told();
      child.send(message);
      return (await answer) as never;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}

async function nextMessage<Answer>(child: ChildProcess, name: string): Promise<Answer> {
  const settled = new AbortController();
  const { signal } = settled;
  try {
    const message = once(child, 'message', { signal }).then(([answer]) => answer as Answer);
    const ended = once(child, 'exit', { signal }).then(([code]) => {
      throw new Error(`${name} ended with ${String(code)}`);
    });
    return await Promise.race([message, ended]);
  } finally {
    settled.abort();
  }
}
