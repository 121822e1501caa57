import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { RedisProcess } from './redis-process.ts';
import type { Rig } from './rig.ts';

/** A commit of armings on its way to Redis (src/ledger/scripts/commit.ts). */
export const ARMING = /\r\narm\r\n/;
/** Of payments that keep the workers busy: some twenty a second, four at a time. */
export const SLOWLY = {
  switches: { answerDelayMs: { payments: 200 } },
  settings: { PAYRUN_CONCURRENCY: '4' },
} as const;

const RELEASES_MAX = 6;
const HEAD = '{payrun}:head';
/** Arm deadline and request time-out: what is sent later was armed later. */
export const SENT_AT_LAST_MS = 2000;

/** Nothing is sent for so long, but for what was armed before, although there is something to send. */
export async function nothingSentFor(rig: Rig, ms: number): Promise<void> {
  await delay(SENT_AT_LAST_MS);
  const sent = rig.service.counters().payments;
  expect(sent).toBeLessThan(rig.rows);
  await delay(ms - SENT_AT_LAST_MS);
  expect(rig.service.counters().payments).toBe(sent);
}

export async function isHalted({ redis }: Rig): Promise<boolean> {
  return (await redis.client.hexists(HEAD, 'halt')) === 1;
}

export async function armings({ redis }: Rig): Promise<number> {
  return Number.parseInt((await redis.client.hget(HEAD, 'armings')) ?? '0', 10);
}

/** Whether arming is allowed on the present server: all logs have been compared. */
async function isSeasonOpen({ redis }: Rig): Promise<boolean> {
  const season = (await redis.client.hget(HEAD, 'season')) ?? '';
  const server = await redis.client.info();
  return ['run_id', 'master_replid'].every((name) => {
    const id = new RegExp(`^${name}:(\\w+)`, 'm').exec(server)?.[1];
    return id !== undefined && season.includes(id);
  });
}

/** Two people release the halt, as soon as all logs have been compared, and resume each run that is paused. */
async function releasedByTwo(rig: Rig): Promise<void> {
  await rig.until('a halt', () => isHalted(rig));
  for (const name of ['anna', 'bob']) {
    await rig.until(`a release by ${name}`, async () => (await rig.payrun(['release', '--as', name])).code === 0);
  }
  // Unless everything is halted again by now.
  for (const runId of await pausedRuns(rig)) await rig.payrun(['resume', runId]);
}

async function pausedRuns({ redis, runs }: Rig): Promise<string[]> {
  const states = await Promise.all(runs.map(({ runId }) => redis.client.hget(`{payrun}:run:${runId}`, 'state')));
  return runs.map(({ runId }) => runId).filter((_, index) => states[index] === 'paused');
}

/**
 * What people do after Redis went back in time, until the season is open, nothing is halted and no run is paused: they
 * release whenever everything is halted. Gives how often that was.
 */
export async function ledOn(rig: Rig): Promise<number> {
  for (let releases = 0; releases < RELEASES_MAX; releases++) {
    let halted = false;
    await rig.until('a halt or an open season', async () => {
      halted = await isHalted(rig);
      return halted || ((await isSeasonOpen(rig)) && (await pausedRuns(rig)).length === 0);
    });
    if (!halted) return releases;
    await releasedByTwo(rig);
  }
  throw new Error('it is halted again and again');
}

/** The file to which the server appends. */
export function appendedFile({ dir }: RedisProcess): string {
  const folder = join(dir, 'appendonlydir');
  const names = readdirSync(folder).filter((name) => name.endsWith('.incr.aof'));
  return join(folder, names.toSorted().at(-1) ?? '');
}

/** The armings in the intent logs of all data directories: what may have been sent. */
export function intentsOf({ folder }: Rig): Record<string, unknown>[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /intents\/.*\.log$/.test(name))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean))
    .map((line) => JSON.parse(line.slice(line.indexOf('{'))) as Record<string, unknown>)
    .filter((line) => 'armingCounter' in line);
}

/** Lines of a payout file's text as a file of their own, counted from its first row, the last one included. */
export function rowsFrom(file: string, first: number, last: number): string {
  const lines = file.split('\n');
  return `${[lines[0], ...lines.slice(first, last + 1)].join('\n')}\n`;
}
