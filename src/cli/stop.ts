/** Ends at the first SIGINT, SIGTERM or SIGHUP; a second one ends the process at once. */
export interface Stop {
  readonly signal: AbortSignal;
  /** Lets signals do again what they do by themselves. */
  release(): void;
}

/** What is in flight when a command ends may end within this; the rest is looked up by whoever comes next. */
export const STOP_MS = 8000;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const INTERRUPTED = 130;

export function onStop(): Stop {
  const stopping = new AbortController();
  const stop = (): void => {
    if (stopping.signal.aborted) process.exit(INTERRUPTED);
    stopping.abort();
  };
  for (const name of SIGNALS) process.on(name, stop);
  return {
    signal: stopping.signal,
    release() {
      for (const name of SIGNALS) process.off(name, stop);
    },
  };
}
