import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bookFaults, firstRows, readBook, reportFaults } from '../support/paid-once.ts';
import { ROOT, useProcesses } from '../support/payrun-processes.ts';
import { seeded } from '../support/seeded.ts';
import { startService } from '../support/service-process.ts';
import { csvReportOf, killAndFinish, TEST_MS_MAX } from './killing.ts';

const PAYOUTS = readFileSync(join(ROOT, 'samples/payouts.csv'), 'utf8');

const processes = useProcesses();

describe.concurrent('payrun run, killed at random moments and started again', () => {
  test.each([
    { seed: 1, grace: '1s', visibleAfterMs: 500 },
    // A look-up that is believed before the quote's end finds nothing of a payment that was made.
    { seed: 2, grace: '6s', visibleAfterMs: 5000 },
  ])(
    'pays each row once through a service that loses requests and answers, before and after it pays (seed $seed)',
    async ({ seed, grace, visibleAfterMs }) => {
      const cwd = processes.folder();
      const service = await startService(processes, {
        switches: [
          'quoteLifeMs=4000',
          `visibilityDelayMs=${visibleAfterMs}`,
          'answerDelayMs.payments=100',
          `faultSeed=${seed}`,
          'dropBeforeCommit=0.05',
          'dropAfterCommit=0.05',
          'error500BeforeCommit=0.05',
          'error500AfterCommit=0.05',
        ],
      });
      const env = {
        ...service.settings(),
        PAYRUN_DATA_DIR: join(cwd, 'data'),
        PAYRUN_QUOTE_GRACE: grace,
        PAYRUN_NOT_FOUND_GAP: '1s',
        PAYRUN_REQUEST_TIMEOUT: '2s',
        PAYRUN_ASSUME: 'payment-id-is-quote-id,expired-quote-refused,one-payment-per-quote,payment-visible-in-time',
        PAYRUN_TRACK_RATE: '1000',
        PAYRUN_TRACK_EVERY: '1s',
      };
      const file = firstRows(PAYOUTS, 250);
      writeFileSync(join(cwd, 'payouts.csv'), file);
      const ended = await killAndFinish({
        start: () => processes.start(['run', 'payouts.csv'], { cwd, env }),
        folder: service.folder,
        rows: 250,
        kills: 3,
        fraction: seeded(seed),
      });
      expect(ended).toMatchObject({ code: 0 });
      const book = readBook(service.folder);
      expect(bookFaults(file, book)).toEqual([]);
      expect(reportFaults(file, book, csvReportOf(ended))).toEqual([]);
    },
    TEST_MS_MAX,
  );
});
