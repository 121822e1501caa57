import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { asTestStarts } from '../support/as-test-starts.ts';

/** payrun's own program, compiled beside the benchmark. */
export const PAYRUN = join(import.meta.dirname, '../../src/cli/main.js');

const LOOK_MS = 10;

export interface PayrunProcess {
  readonly pid: number;
  readonly startedAt: number;
  said(text: string): Promise<void>;
  /** The first group of the first match on standard output. */
  find(pattern: RegExp): Promise<string>;
  /** Rejects unless it ends with one of these codes (0 unless told). */
  ended(codes?: readonly number[]): Promise<string>;
  kill(signal: NodeJS.Signals): Promise<void>;
  /** The highest resident memory so far, in bytes; undefined where the system does not tell. */
  peakBytes(): number | undefined;
}

/** Starts a command of payrun. Standard error is kept, to be shown when something goes wrong. */
export function startPayrun(words: readonly string[], env: Readonly<Record<string, string>>): PayrunProcess {
  const { PATH = '', HOME = '' } = process.env;
  const startedAt = performance.timeOrigin + performance.now();
  const child = spawn(process.execPath, [PAYRUN, ...asTestStarts(words)], { env: { PATH, HOME, ...env } });
  const endWithUs = (): boolean => child.kill('SIGKILL');
  process.once('exit', endWithUs);
  child.once('exit', () => process.off('exit', endWithUs));
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-20_000);
  });
  const closed = once(child, 'close');
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const until = async (isThere: () => boolean, what: string): Promise<void> => {
    while (!isThere()) {
      if (hasEnded()) throw new Error(`payrun ${words[0]} ended without ${what}:\n${stdout}${stderr}`);
      await delay(LOOK_MS);
    }
  };
  return {
    pid: child.pid ?? -1,
    startedAt,
    said: (text) => until(() => stdout.includes(text) || stderr.includes(text), `saying "${text}"`),
    async find(pattern) {
      await until(() => pattern.test(stdout), `a match of ${pattern}`);
      return pattern.exec(stdout)?.[1] ?? '';
    },
    async ended(codes = [0]) {
      await closed;
      if (child.exitCode === null || !codes.includes(child.exitCode)) {
        throw new Error(`payrun ${words[0]} ended with ${child.exitCode ?? child.signalCode}:\n${stderr}`);
      }
      return stdout;
    },
    async kill(signal) {
      if (hasEnded()) return;
      child.kill(signal);
      await closed;
    },
    peakBytes: () => peakBytesOf(child.pid ?? -1),
  };
}

/** `VmHWM` of a process that is there. */
export function peakBytesOf(pid: number): number | undefined {
  try {
    const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  } catch {
    return undefined;
  }
}
