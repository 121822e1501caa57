import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PRISM = fileURLToPath(import.meta.resolve('@stoplight/prism-cli/dist/index.js'));
const POLL_MS = 10;

const DESCRIPTION = join(import.meta.dirname, 'payments-service.yaml');

/** Prism between a client and the service: it holds each request and each answer against the description. */
export interface ValidatingProxy {
  readonly url: string;
  /** The path and status of each answer of the service so far, such as `/v2/payments 201`. */
  answers(): Promise<string[]>;
  /** What of the requests and answers so far the description does not have, a status too. */
  violations(): Promise<string[]>;
  stop(): Promise<void>;
}

/**
 * Starts it in front of a service. What has a violation is answered with an error of the proxy's own; a status that the
 * description does not have is passed on, and is a violation too.
 */
export async function startValidatingProxy(service: string): Promise<ValidatingProxy> {
  const words = ['proxy', DESCRIPTION, service, '--errors', '--port', '0', '--cors', 'false'];
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [PRISM, ...words], { env: { PATH, HOME, NO_COLOR: '1', FORCE_COLOR: '0' } });
  const endWithUs = () => child.kill('SIGKILL');
  process.once('exit', endWithUs);
  const log = logOf(child);
  const [, url = ''] = await log.waitFor(/is listening on (\S+)/);

  /** The lines up to now: the log follows the answers, so that it is read up to a request of our own. */
  let marks = 0;
  async function lines(): Promise<string[]> {
    const mark = `/mark-${(marks += 1)}`;
    await fetch(`${url}${mark}`);
    await log.waitFor(new RegExp(`${mark} .*NO_PATH_MATCHED`));
    return log
      .text()
      .split('\n')
      .filter((line) => !line.includes('/mark-'));
  }

  return {
    url,
    answers: async () =>
      (await lines()).flatMap((line) => {
        const [, path, status] = /upstream call to (\S+) has returned ([0-9]+)/.exec(line) ?? [];
        return path === undefined ? [] : [`${path} ${status}`];
      }),
    violations: async () => (await lines()).filter((line) => /✖ +error|⚠ +warning/.test(line)),
    async stop() {
      process.off('exit', endWithUs);
      if (child.exitCode !== null) return;
      const gone = once(child, 'exit');
      child.kill();
      await gone;
    },
  };
}

function logOf(child: ChildProcess): { text(): string; waitFor(wanted: RegExp): Promise<RegExpExecArray> } {
  let text = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  return {
    text: () => text,
    async waitFor(wanted) {
      for (;;) {
        const found = wanted.exec(text);
        if (found !== null) return found;
        if (child.exitCode !== null) throw new Error(`the proxy ended:\n${text}`);
        await delay(POLL_MS);
      }
    },
  };
}
