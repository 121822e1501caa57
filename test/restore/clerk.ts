import { EXIT } from '../../src/cli/exit-code.ts';
import { explain } from '../../src/cli/explain.ts';
import { withApp } from '../../src/cli/open.ts';
import { openProgram } from '../../src/cli/program.ts';
import { payUntil } from '../../src/cli/serve/worker.ts';
import type { CrashPoint } from '../../src/pay/crash-point.ts';
import { asTestStarts } from '../support/as-test-starts.ts';

/*
 * A process that does one command of payrun after the other, each as main.ts does it, so that payrun is loaded once for
 * many of them. `worker` pays until "stop" comes.
 */

export interface Order {
  readonly words: readonly string[];
  /** All settings of the command. */
  readonly env: Readonly<Record<string, string>>;
  /** Where the process kills itself. */
  readonly diesAt?: CrashPoint;
}

export interface Carried {
  readonly code: number;
  /** What was printed on standard output and error. */
  readonly stdout: string;
  readonly stderr: string;
}

const IS_SETTING = /^PAYRUN_|^REDIS_URL$/;

let stopping = new AbortController();

process.on('message', (message: Order | 'stop') => {
  if (message === 'stop') stopping.abort();
  else void carryOut(message);
});
process.once('disconnect', () => process.exit());

async function carryOut(order: Order): Promise<void> {
  for (const name of Object.keys(process.env)) if (IS_SETTING.test(name)) delete process.env[name];
  Object.assign(process.env, order.env);
  stopping = new AbortController();
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].write = (text: string | Uint8Array, ...rest: unknown[]): boolean => {
      printed[name] += String(text);
      const written = rest.at(-1);
      if (typeof written === 'function') process.nextTick(written);
      return true;
    };
  }
  const carried: Carried = { code: await codeOf(order), ...printed };
  process.send?.(carried);
}

async function codeOf({ words, diesAt }: Order): Promise<number> {
  let code = 0;
  try {
    if (words[0] === 'worker') return await work();
    const at = (reached: CrashPoint): void => {
      if (reached === diesAt) process.kill(process.pid, 'SIGKILL');
    };
    const end = (given: number): void => {
      code = given;
    };
    const program = await openProgram({ end, at }, words[0]);
    await program.parseAsync([...asTestStarts(words)], { from: 'user' });
  } catch (error) {
    const { text, exitCode } = explain(error);
    process.stderr.write(`${text}\n`);
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
