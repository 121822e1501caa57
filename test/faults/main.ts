import { explain } from '../../src/cli/explain.ts';
import { say } from '../../src/cli/print.ts';
import { openProgram } from '../../src/cli/program.ts';
import type { AtCrashPoint } from '../../src/pay/crash-point.ts';

/*
 * payrun as its own main composes it, but for what happens at one crash point. CRASH_AT is `<point> <deed> <count>`, for
 * example `C6 SIGKILL 3`: what the process does when it comes there for the third time. A deed is a signal that it sends
 * itself, or `BLOCK-<ms>`, which keeps its event loop busy for so long.
 */

function crashAt(text: string): AtCrashPoint {
  const [point, deed = '', count = '1'] = text.split(' ');
  let left = Number.parseInt(count, 10);
  return (reached) => {
    if (reached !== point) return;
    left -= 1;
    if (left === 0) meet(deed);
  };
}

function meet(deed: string): void {
  say(`at the crash point: ${deed}`);
  if (!deed.startsWith('BLOCK-')) {
    process.kill(process.pid, deed);
    return;
  }
  const until = performance.now() + Number.parseInt(deed.slice('BLOCK-'.length), 10);
  while (performance.now() < until);
}

function end(code: number): void {
  process.exitCode = code;
}

try {
  const program = await openProgram({ end, at: crashAt(process.env['CRASH_AT'] ?? '') }, process.argv[2]);
  await program.parseAsync();
} catch (error) {
  const { text, exitCode } = explain(error);
  say(text);
  process.exitCode = exitCode;
}
process.exit();
