import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { paidTwice, readBook } from '../support/paid-once.ts';
import { type Ended, redisServersBelow, type Started } from '../support/payrun-processes.ts';

export const TEST_MS_MAX = 6 * 60_000;
const POLL_MS = 10;

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
export async function killAndFinish({ start, folder, rows, kills, fraction, redisBelow }: Killing): Promise<Ended> {
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

/** The CSV report that a run which has ended named. */
export function csvReportOf({ stdout }: Ended): string {
  return readFileSync(/^report (.+\.csv)$/m.exec(stdout)?.[1] ?? '', 'utf8');
}
