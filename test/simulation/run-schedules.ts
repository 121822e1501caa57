import { type Outcome, openSchedule, type Schedule, type ScheduleOptions } from './schedule.ts';

/** After so many schedules timers and messages of the process that runs them get their turn. */
const SCHEDULES_PER_TURN = 50;

export interface Batch {
  readonly schedules: number;
  readonly steps: number;
  readonly counts: Record<string, number>;
  readonly failures: readonly Outcome[];
}

/** Runs the schedules of consecutive seeds, up to the first failures. Their order of running changes none of them. */
export async function runSchedules(
  seeds: { readonly from: number; readonly count: number },
  options: ScheduleOptions & { readonly failuresMax?: number; readonly untilMs?: number } = {},
): Promise<Batch> {
  const { failuresMax = 1, untilMs = Number.POSITIVE_INFINITY } = options;
  const counts: Record<string, number> = {};
  const failures: Outcome[] = [];
  let schedules = 0;
  let steps = 0;
  const started = performance.now();
  // Where a fault was thrown is only told when a schedule is replayed.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const isOver = (): boolean =>
    schedules >= seeds.count || failures.length >= failuresMax || performance.now() - started > untilMs;
  while (!isOver()) {
    const outcome = await runToEnd(openSchedule(seeds.from + schedules, options));
    schedules++;
    steps += outcome.steps;
    for (const [what, count] of outcome.counts) counts[what] = (counts[what] ?? 0) + count;
    if (outcome.failure !== undefined) failures.push(outcome);
    if (schedules % SCHEDULES_PER_TURN === 0) await nextTurn();
  }
  Error.stackTraceLimit = stackTraceLimit;
  return { schedules, steps, counts, failures };
}

/** Everything that was resolved has run before the next step: Node empties the queue of promises before its next tick. */
function runToEnd(schedule: Schedule): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const goOn = (): void => process.nextTick(step);
    function step(): void {
      try {
        const outcome = schedule.step();
        if (outcome === undefined) void RESOLVED.then(goOn);
        else resolve(outcome);
      } catch (error) {
        reject(error);
      }
    }
    step();
  });
}

const RESOLVED = Promise.resolve();

/** The event loop goes round. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Runs one schedule again with its trace: the same seed gives the same text. */
export async function replay(seed: number, options: ScheduleOptions = {}): Promise<Outcome> {
  return await runToEnd(openSchedule(seed, { ...options, traced: true }));
}
