import { once } from 'node:events';
import { EXIT } from '../../src/cli/exit-code.ts';
import { explain } from '../../src/cli/explain.ts';
import { withApp } from '../../src/cli/open.ts';
import { say } from '../../src/cli/print.ts';
import { exitCodeOfUsage, openProgram, wantedCommand } from '../../src/cli/program.ts';
import { payUntil } from '../../src/cli/serve/worker.ts';
import type { CrashPoint } from '../../src/pay/crash-point.ts';
import { asTestStarts } from './as-test-starts.ts';
import { END, type Order } from './clerks.ts';

/*
 * A process that does one command of payrun after the other, each as main.ts does it, so that payrun is loaded once for
 * many of them, or pays until "stop" comes.
 */

const { PATH = '', HOME = '' } = process.env;

let stopping = new AbortController();

process.on('message', (message: Order | 'stop') => {
  if (message === 'stop') stopping.abort();
  else void carryOut(message);
});
process.once('disconnect', () => process.exit());

async function carryOut(order: Order): Promise<void> {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, { PATH, HOME, ...order.env });
  if (order.cwd !== undefined) process.chdir(order.cwd);
  stopping = new AbortController();
  const code = await codeOf(order);
  for (const stream of [process.stdout, process.stderr]) {
    if (!stream.write(END)) await once(stream, 'drain');
  }
  process.send?.(code);
}

async function codeOf({ words, works, diesAt }: Order): Promise<number> {
  let code = 0;
  try {
    if (works === true) return await work();
    const at = (reached: CrashPoint): void => {
      if (reached === diesAt) process.kill(process.pid, 'SIGKILL');
    };
    const end = (given: number): void => {
      code = given;
    };
    const program = await openProgram({ end, at }, wantedCommand(words));
    await program.parseAsync([...asTestStarts(words)], { from: 'user' });
  } catch (error) {
    const usage = exitCodeOfUsage(error);
    if (usage !== undefined) return usage;
    const { text, exitCode } = explain(error);
    say(text);
    return exitCode;
  }
  return code;
}

async function work(): Promise<number> {
  return await withApp({ logLevel: 'silent' }, async (app) => {
    await payUntil(app, stopping.signal);
    return EXIT.ok;
  });
}
