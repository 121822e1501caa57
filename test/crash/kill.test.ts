import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bookFaults, firstRows, paidTwice, readBook, reportFaults } from '../support/paid-once.ts';
import {
  buildProcesses,
  type Ended,
  type Processes,
  ROOT,
  redisServersBelow,
  type Started,
} from '../support/payrun-processes.ts';
import { seeded } from '../support/seeded.ts';
import { startService } from '../support/service-process.ts';

const TEST_MS_MAX = 6 * 60_000;
const POLL_MS = 10;
const PAYOUTS = readFileSync(join(ROOT, 'samples/payouts.csv'), 'utf8');

let processes: Processes;

beforeAll(() => {
  processes = buildProcesses();
});

afterAll(async () => {
  await processes.remove();
});

interface Killing {
  /** The command to kill, and to let run to its end. */
  readonly start: () => Started;
  /** Of the service that pays. */
  readonly folder: string;
  readonly rows: number;
  readonly kills: number;
  readonly fraction: () => number;
  /** Dies along with the second kill, as in a power cut. */
  readonly redisBelow?: string;
}

/**
 * Kills the command so many times: the first time while it starts, then each time some payments later than the time
 * before. Lets it run to its end at last, or whenever it is quicker than the kill.
 */
async function killAndFinish({ start, folder, rows, kills, fraction, redisBelow }: Killing): Promise<Ended> {
  for (let kill = 0; kill < kills; kill++) {
    const started = start();
    const until = readBook(folder).length + Math.ceil((fraction() * 2 * rows) / (kills + 1));
    const lateMs = kill === 0 ? 300 + 700 * fraction() : 30 * fraction();
    if (kill > 0) while (!started.hasEnded && readBook(folder).length < until) await delay(POLL_MS);
    await delay(lateMs);
    started.kill('SIGKILL');
    if (kill === 1 && redisBelow !== undefined) killRedisBelow(redisBelow);
    await started.ended;
    expect(paidTwice(readBook(folder))).toEqual([]);
  }
  return await start().ended;
}

function killRedisBelow(folder: string): void {
  for (const pid of redisServersBelow(folder)) process.kill(pid, 'SIGKILL');
}

function csvReportOf({ stdout }: Ended): string {
  return readFileSync(/^report (.+\.csv)$/m.exec(stdout)?.[1] ?? '', 'utf8');
}

describe.concurrent('payrun run, killed at random moments and started again', () => {
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
