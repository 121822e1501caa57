const MICROSECONDS = 1000;
const TICK_MS = 1;

/**
 * The most milliseconds of the processor that one turn of the event loop took while something was done. Time in which
 * other programs had the processor is not counted.
 */
export async function longestTurnMs<Value>(done: Promise<Value>): Promise<{ value: Value; longestMs: number }> {
  let longestMs = 0;
  let before = process.cpuUsage();
  const tick = (): void => {
    const { user, system } = process.cpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / MICROSECONDS);
    before = process.cpuUsage();
  };
  const ticks = setInterval(tick, TICK_MS);
  try {
    const value = await done;
    tick();
    return { value, longestMs };
  } finally {
    clearInterval(ticks);
  }
}
