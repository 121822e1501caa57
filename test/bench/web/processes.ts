import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { asTestStarts } from '../../support/as-test-starts.ts';
import type { Ended, ProcessesAlone, Started } from '../../support/payrun-processes.ts';

const POLL_MS = 20;
/** What a process said before is of no use to anybody. */
const KEPT_CHARACTERS_MAX = 100_000;
const TICKS_PER_SECOND = 100;

/** payrun as `npm run build` left it, without vitest, and below one folder that goes with the processes. */
export function openProcesses(built = resolve('dist')): ProcessesAlone {
  // Not where Redis is: data directories of a real service may not lie in memory, and TMPDIR may.
  const root = mkdtempSync(resolve('.tmp-bench-web-'));
  const running = new Set<ChildProcessWithoutNullStreams>();
  const endAll = (): void => {
    for (const child of running) child.kill('SIGKILL');
  };
  process.once('exit', endAll);

  const start: ProcessesAlone['start'] = (words, { env = {}, cwd = root, main = 'src/cli/main.js' } = {}) => {
    const { PATH = '', HOME = '' } = process.env;
    const child = spawn(process.execPath, [resolve(built, main), ...asTestStarts(words)], {
      cwd,
      env: { PATH, HOME, ...env },
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    return watchOver(child);
  };

  return {
    built,
    folder() {
      const folder = mkdtempSync(join(root, 'f-'));
      mkdirSync(join(folder, 'data'), { mode: 0o700 });
      return folder;
    },
    start,
    run: (words, options) => start(words, options).ended,
    command: (words, options) => start(words, options).ended,
    async remove() {
      const gone = [...running].map((child) => once(child, 'exit'));
      endAll();
      await Promise.all(gone);
      process.off('exit', endAll);
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function watchOver(child: ChildProcessWithoutNullStreams): Started {
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] = (texts[name] + text).slice(-KEPT_CHARACTERS_MAX);
    });
  }
  let hasEnded = false;
  const ended = once(child, 'close').then((): Ended => {
    hasEnded = true;
    return { code: child.signalCode ?? child.exitCode ?? -1, ...texts };
  });
  return {
    pid: child.pid ?? -1,
    ended,
    get hasEnded() {
      return hasEnded;
    },
    kill: (signal) => void child.kill(signal),
    stdout: () => texts.stdout,
    async said(text) {
      while (!texts.stdout.includes(text) && !texts.stderr.includes(text)) {
        if (hasEnded) throw new Error(`it ended without saying "${text}":\n${texts.stdout}${texts.stderr}`);
        await Promise.race([ended, delay(POLL_MS)]);
      }
    },
  };
}

/** Seconds that a process has kept a core busy so far, as Linux counts them (proc(5), `utime` and `stime`). */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
