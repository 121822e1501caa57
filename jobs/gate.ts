/** Lets a number of tasks run at a time; the others wait in the order in which they came. */
export type Gate = <T>(task: () => Promise<T>) => Promise<T>;

export function openGate(atATimeMax: number): Gate {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (task) => {
    if (running >= atATimeMax) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
