import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bookFaults, firstRows, readBook, reportFaults } from '../support/paid-once.ts';
import { ROOT, useProcesses } from '../support/payrun-processes.ts';
import { seeded } from '../support/seeded.ts';
import { csvReportOf, killAndFinish, TEST_MS_MAX } from './killing.ts';

const PAYOUTS = readFileSync(join(ROOT, 'samples/payouts.csv'), 'utf8');

const processes = useProcesses();

describe('payrun run, killed at random moments and started again', () => {
  test.each([20_261_121])(
    'pays each row once through the sandbox that it runs itself, which dies with it, and once its Redis too (seed %i)',
    async (seed) => {
      const cwd = processes.folder();
      const folder = join(cwd, '.payrun/sandbox');
      const file = firstRows(PAYOUTS, 400);
      writeFileSync(join(cwd, 'payouts.csv'), file);
      const ended = await killAndFinish({
        start: () => processes.start(['run', 'payouts.csv'], { cwd }),
        folder,
        rows: 400,
        kills: 3,
        fraction: seeded(seed),
        redisBelow: cwd,
      });
      expect(ended).toMatchObject({ code: 0 });
      const book = readBook(folder);
      expect(bookFaults(file, book)).toEqual([]);
      expect(reportFaults(file, book, csvReportOf(ended))).toEqual([]);
    },
    TEST_MS_MAX,
  );
});
