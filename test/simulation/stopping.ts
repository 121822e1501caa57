/** Tells a process to end, as an `AbortController` does. */
export interface Stopping {
  readonly signal: AbortSignal;
  abort(): void;
}

/**
 * What the program asks of a signal, and no more: Node makes one of its own so slowly, and for so long a life, that it
 * would cost more than all else of a simulated process.
 */
export function openStopping(): Stopping {
  const listeners = new Set<() => void>();
  const signal = {
    aborted: false,
    addEventListener: (_type: 'abort', listener: () => void) => void listeners.add(listener),
    removeEventListener: (_type: 'abort', listener: () => void) => void listeners.delete(listener),
  };
  return {
    signal: signal as unknown as AbortSignal,
    abort() {
      if (signal.aborted) return;
      signal.aborted = true;
      for (const listener of listeners) listener();
    },
  };
}
