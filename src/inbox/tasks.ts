/** Work that is done a few pieces at a time, each under a name that no second one has meanwhile. */
export interface Tasks {
  /** Does the work when its turn comes, unless some is there under this name already. It must not throw. */
  begin(name: string, work: () => Promise<void>): void;
  /** Resolves when nothing is left to do. */
  idle(): Promise<void>;
}

/** Once `stopping` is aborted nothing more is begun; what waits for its turn is left. */
export function openTasks(atATimeMax: number, stopping: AbortSignal): Tasks {
  const waiting = new Map<string, () => Promise<void>>();
  const running = new Map<string, Promise<void>>();

  function next(): void {
    for (const [name, work] of waiting) {
      if (stopping.aborted || running.size >= atATimeMax) return;
      waiting.delete(name);
      const done = work().finally(() => {
        running.delete(name);
        next();
      });
      running.set(name, done);
    }
  }

  return {
    begin(name, work) {
      if (running.has(name)) return;
      if (!waiting.has(name)) waiting.set(name, work);
      next();
    },
    async idle() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}
