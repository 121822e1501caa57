import { expect, test } from 'vitest';
import { HAPPENINGS, type Happening } from './happenings.ts';
import { replay, runSchedules } from './run-schedules.ts';

const SEED = 4001;
const SCHEDULES = 4000;
/** Where no schedule ends: nothing stays open, and every row of the file is good. */
const NEVER: readonly Happening[] = ['ended ready', 'ended armed', 'ended quoted', 'ended unknown', 'ended refused'];

test(`in ${SCHEDULES} schedules from a seed nothing is paid twice, nothing is lost, and everything settles`, async () => {
  const { schedules, steps, counts, failures } = await runSchedules({ from: SEED, count: SCHEDULES });
  const happened = HAPPENINGS.map((what) => `${counts[what] ?? 0} ${what}`);
  console.log(`simulation: seed ${SEED}, ${schedules} schedules, ${steps} steps: ${happened.join(', ')}`);
  const [failed] = failures;
  const trace = failed === undefined ? [] : (await replay(failed.seed)).trace;
  expect(failed?.failure, `seed ${failed?.seed}\n${trace.join('\n')}`).toBeUndefined();
  // A schedule in which nothing goes wrong proves nothing.
  const seldom = HAPPENINGS.filter((what) => !NEVER.includes(what) && (counts[what] ?? 0) < 10);
  expect(seldom, 'what hardly happened').toEqual([]);
  const [open = 0, decided = 0] = [counts['schedules with something to decide'], counts['schedules with a decision']];
  expect(decided, `decisions in ${open} schedules in which there is something to decide`).toBeGreaterThan(open / 3);
}, 300_000);

test('the same seed gives the same schedule, to the letter of its trace', async () => {
  for (const seed of [3, 14, 159]) {
    const first = await replay(seed);
    const second = await replay(seed);
    expect(first.trace.length).toBeGreaterThan(20);
    expect(second.trace).toEqual(first.trace);
    expect(second.counts).toEqual(first.counts);
  }
});
