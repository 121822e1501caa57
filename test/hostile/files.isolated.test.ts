import { expect, test } from 'vitest';
import { withShortTurns } from './budget.ts';
import { checkHostile, HOSTILE_FILES } from './files.ts';
import { HOSTILE_STATEMENTS, readHostile } from './statements.ts';

const HANGS_AFTER_MS = 600_000;

test.each(HOSTILE_FILES)(
  '$what is refused in its budget of time and memory, and others have their turn meanwhile ($name)',
  async (file) => {
    const bytes = file.make();
    const checked = await withShortTurns(async () => await checkHostile(file, bytes));
    expect(checked.problems.map((problem) => problem.code)).toContain(file.code);
    expect(checked.fileRefused || checked.valid === 0).toBe(true);
  },
  HANGS_AFTER_MS,
);

test.each(HOSTILE_STATEMENTS)(
  '$what is refused or read in its budget of time and memory, and others have their turn meanwhile (a statement)',
  async (file) => {
    const bytes = file.make();
    expect(await withShortTurns(async () => await readHostile(file, bytes))).toMatch(file.comesTo);
  },
  HANGS_AFTER_MS,
);
