import { expect, test } from 'vitest';
import { replay, runSchedules } from './run-schedules.ts';

const SEED = 1;
const SCHEDULES = 3000;

test(`in ${SCHEDULES} schedules from a seed nothing is paid twice, nothing is lost, and everything settles`, async () => {
  const { schedules, steps, counts, failures } = await runSchedules({ from: SEED, count: SCHEDULES });
  console.log(`simulation: seed ${SEED}, ${schedules} schedules, ${steps} steps`, counts);
  const [failed] = failures;
  const trace = failed === undefined ? [] : (await replay(failed.seed)).trace;
  expect(failed?.failure, `seed ${failed?.seed}\n${trace.join('\n')}`).toBeUndefined();
  // A schedule in which nothing goes wrong proves nothing.
  for (const what of ['payments', 'kills', 'stops', 'rollbacks', 'requests lost', 'replies lost', 'requests doubled']) {
    expect(counts[what], `too few: ${what}`).toBeGreaterThan(10);
  }
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
