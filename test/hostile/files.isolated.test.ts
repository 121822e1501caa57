import { expect, test } from 'vitest';
import { checkHostile, HOSTILE_FILES } from './files.ts';
import { longestTurnMs } from './turns.ts';

/** Four times what it may be: the machine may be slow, and other threads of the process count, too. */
const TURN_MS_MAX = 400;
const HANGS_AFTER_MS = 600_000;

test.each(HOSTILE_FILES)(
  '$what is refused in its budget of memory, and others have their turn meanwhile ($name)',
  async ({ name, make, code }) => {
    const { value: checked, longestMs } = await longestTurnMs(checkHostile(name, make()));
    expect(checked.problems.map((problem) => problem.code)).toContain(code);
    expect(checked.fileRefused || checked.valid === 0).toBe(true);
    expect(longestMs).toBeLessThan(TURN_MS_MAX);
  },
  HANGS_AFTER_MS,
);
