import { expect, test } from 'vitest';
import type { Mutant } from './mutants.ts';
import { replay, runSchedules } from './run-schedules.ts';

/** Several times what each of them needs today. */
const SCHEDULES_MAX = 6000;
const SLOW_SCHEDULES_MAX = 40_000;

/** A test for each mutant. */
export function testMutants(mutants: readonly Mutant[]): void {
  test.each([...mutants])(
    'the simulation notices when $name',
    async ({ name, isSlow = false, ...options }) => {
      const count = isSlow ? SLOW_SCHEDULES_MAX : SCHEDULES_MAX;
      const { schedules, failures } = await runSchedules({ from: 1, count }, options);
      const [failed] = failures;
      expect(failed?.failure?.rule, `${name}: not noticed in ${schedules} schedules`).not.toBe('defect');
      console.log(`${name}: seed ${failed?.seed}, ${failed?.failure?.rule}: ${failed?.failure?.text}`);
      expect((await replay(failed?.seed ?? 0, options)).failure).toEqual(failed?.failure);
      expect(failed).toBeDefined();
      const { mutation: _mutation, ...unmutated } = options;
      expect((await replay(failed?.seed ?? 0, unmutated)).failure).toBeUndefined();
    },
    300_000,
  );
}
