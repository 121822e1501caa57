import { once } from 'node:events';
import { systemClock } from '../clock.ts';
import { endAtOnce } from '../closing.ts';
import { Refusal } from '../refusal.ts';
import { EXIT } from './exit-code.ts';
import { say } from './print.ts';

/** Ends at the first SIGINT, SIGTERM or SIGHUP; a second one ends the process at once. */
export interface Stop {
  readonly signal: AbortSignal;
  /** Lets signals do again what they do by themselves. */
  release(): void;
}

/** What is in flight when a command ends may end within this; the rest is looked up by whoever comes next. */
export const STOP_MS = 8000;

/** What is said at the signal where something is under way. */
export const STOPPING = `Stopping: what is under way may end within ${STOP_MS / 1000} s. A second Ctrl-C ends it at once.`;
const AT_ONCE =
  'Interrupted at once; what was under way is looked up by whoever comes next. The same command carries on.';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export function onStop(): Stop {
  const stopping = new AbortController();
  const stop = (): void => {
    if (stopping.signal.aborted) void leaveAtOnce();
    else stopping.abort();
  };
  for (const name of SIGNALS) process.on(name, stop);
  return {
    signal: stopping.signal,
    release() {
      for (const name of SIGNALS) process.off(name, stop);
    },
  };
}

let isLeaving = false;

async function leaveAtOnce(): Promise<void> {
  if (isLeaving) return;
  isLeaving = true;
  say(AT_ONCE);
  await endAtOnce(systemClock);
  process.exit(EXIT.interrupted);
}

/** Work that may be left where it is: throws a Refusal (exit 130) once the signal comes, whatever the work does then. */
export async function unlessStopped<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const settled = new AbortController();
  const stopped = once(signal, 'abort', { signal: settled.signal }).then(() => {
    throw refuseInterrupted();
  });
  try {
    if (signal.aborted) throw refuseInterrupted();
    return await Promise.race([work, stopped]);
  } finally {
    settled.abort();
  }
}

function refuseInterrupted(): Refusal {
  return new Refusal('Interrupted; nothing was paid.', 'The same command carries on.', { kind: 'interrupted' });
}
