/** Lets a number of tasks run at a time. Of those that wait each run has one in turn, its own in the order in which they came. */
export type Gate = <T>(runId: string, task: () => Promise<T>) => Promise<T>;

export function openGate(atATimeMax: number): Gate {
  let running = 0;
  /** The run whose turn is next comes first. */
  const waiting = new Map<string, (() => void)[]>();

  function takeNext(): (() => void) | undefined {
    for (const [runId, tasks] of waiting) {
      const next = tasks.shift();
      waiting.delete(runId);
      if (tasks.length > 0) waiting.set(runId, tasks);
      return next;
    }
    return undefined;
  }

  function wait(runId: string): Promise<void> {
    return new Promise((resolve) => {
      const tasks = waiting.get(runId);
      if (tasks === undefined) waiting.set(runId, [resolve]);
      else tasks.push(resolve);
    });
  }

  return async (runId, task) => {
    if (running >= atATimeMax) await wait(runId);
    else running++;
    try {
      return await task();
    } finally {
      const next = takeNext();
      if (next === undefined) running--;
      else next();
    }
  };
}
