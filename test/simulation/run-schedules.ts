import { type Outcome, openSchedule, type ScheduleOptions } from './schedule.ts';

/** Schedules that are taken forward side by side, so that one turn of the event loop serves them all. */
const LANES = 64;

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
  let next = seeds.from;
  let schedules = 0;
  let steps = 0;
  const started = performance.now();
  const isOver = (): boolean =>
    next >= seeds.from + seeds.count || failures.length >= failuresMax || performance.now() - started > untilMs;
  const open = () => (isOver() ? undefined : openSchedule(next++, options));
  let lanes = Array.from({ length: LANES }, open).filter((lane) => lane !== undefined);
  while (lanes.length > 0) {
    let ended = 0;
    for (const [index, lane] of lanes.entries()) {
      const outcome = lane?.step();
      if (outcome === undefined) continue;
      schedules++;
      steps += outcome.steps;
      for (const [what, count] of outcome.counts) counts[what] = (counts[what] ?? 0) + count;
      if (outcome.failure !== undefined) failures.push(outcome);
      const another = open();
      if (another === undefined) ended++;
      lanes[index] = another as (typeof lanes)[number];
    }
    if (ended > 0) lanes = lanes.filter((lane) => lane !== undefined);
    await nextTurn();
  }
  return { schedules, steps, counts, failures };
}

/** Everything that was resolved has run before the next turn begins; nothing real is waited for. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Runs one schedule again with its trace: the same seed gives the same text. */
export async function replay(seed: number, options: ScheduleOptions = {}): Promise<Outcome> {
  const schedule = openSchedule(seed, { ...options, traced: true });
  for (;;) {
    const outcome = schedule.step();
    if (outcome !== undefined) return outcome;
    await nextTurn();
  }
}
