import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { SCHEMA_VERSION } from '../../src/ledger/season/refuse-ledger.ts';
import { bookFaults, readBook, reportFaults } from '../support/paid-once.ts';
import { redisServersBelow, type Started } from '../support/payrun-processes.ts';
import { DEPTH } from './depth.ts';
import { SLOWLY } from './redis-steps.ts';
import type { Rig, RigProcess } from './rig.ts';
import { faultRow } from './row.ts';

const ALONE = { PAYRUN_CONCURRENCY: '1' };
/** Longer than a job's lock (8 s) and the look for stalled jobs after it (4 s). */
const PAST_THE_LOCK_MS = DEPTH === 'short' ? 13_000 : 60_000;
const AWAKE_MS = 3000;
/** What a container is given to stop. */
const STOP_MS_MAX = 10_000;

/** Payments that leave both workers something to do. */
const BESIDE = {
  rows: 24,
  times: { quoteLifeMs: 5000 },
  switches: { answerDelayMs: { payments: 200 } },
} as const;

async function allPaid(rig: Rig): Promise<void> {
  await rig.until('all paid', async () => (await rig.states())['completed'] === rig.rows);
}

async function oneRequestEach(rig: Rig): Promise<void> {
  expect(rig.service.counters().payments).toBe(rig.rows);
}

/** Everything was paid with one request for each row, also after those that slept have woken and had their time. */
async function sentOnceEach(rig: Rig): Promise<void> {
  await delay(AWAKE_MS);
  await oneRequestEach(rig);
  expect(rig.started.filter(({ wasReady, hasEnded }) => wasReady && hasEnded)).toEqual([]);
}

/** Two workers that know each other, and the first has come to its crash point. */
async function besideAnother(rig: Rig, crashAt: string): Promise<RigProcess> {
  await rig.startWorker('two', { settings: ALONE });
  const worker = await rig.startWorker('one', { settings: ALONE, crashAt });
  await rig.submit();
  await worker.said('at the crash point');
  return worker;
}

faultRow({
  ids: ['F3'],
  fault: 'a worker stands still between arming and sending until another one has paid its payout with another quote',
  tries: { short: 1, long: 3 },
  ...BESIDE,
  async body(rig) {
    const sleeper = await besideAnother(rig, 'C6 SIGSTOP 2');
    await allPaid(rig);
    sleeper.kill('SIGCONT');
  },
  after: sentOnceEach,
});

faultRow({
  ids: ['F3'],
  fault: "a worker wakes within its arm deadline and past its quote's end: the service refuses what it sends",
  tries: { short: 1, long: 3 },
  rows: 12,
  settings: { PAYRUN_ARM_DEADLINE: '20s' },
  async body(rig) {
    await rig.submit();
    const sleeper = await rig.startWorker('one', { settings: ALONE, crashAt: 'C6 SIGSTOP 3' });
    await sleeper.said('at the crash point');
    await delay(2 * rig.times.quoteLifeMs);
    sleeper.kill('SIGCONT');
  },
  async after(rig) {
    expect(rig.service.counters().payments).toBeGreaterThan(rig.rows);
  },
});

faultRow({
  ids: ['F4'],
  fault: 'a worker stands still while its payment requests are answered, and another one finds the payments',
  tries: { short: 1, long: 3 },
  ...BESIDE,
  async body(rig) {
    await rig.startWorker('two', { settings: ALONE });
    const sleeper = await rig.startWorker('one', { settings: { PAYRUN_CONCURRENCY: '4' } });
    await rig.submit();
    let booked = 6;
    // It may be stopped in a moment in which it has sent nothing.
    do {
      sleeper.kill('SIGCONT');
      await rig.booked(booked++);
      sleeper.kill('SIGSTOP');
    } while (((await rig.states())['armed'] ?? 0) < 2);
    await allPaid(rig);
    sleeper.kill('SIGCONT');
  },
  after: sentOnceEach,
});

for (const [words, point, tries] of [
  ['between arming and sending', 'C6', { short: 1, long: 2 }],
  ['with the reply to a payment request read', 'C10', { long: 2 }],
] as const) {
  faultRow({
    ids: ['F5'],
    fault: `a worker's event loop is blocked for ${PAST_THE_LOCK_MS / 1000} s ${words}`,
    tries,
    ...BESIDE,
    async body(rig) {
      await besideAnother(rig, `${point} BLOCK-${PAST_THE_LOCK_MS} 2`);
      await delay(PAST_THE_LOCK_MS);
    },
    after: sentOnceEach,
  });
}

/** A worker with payment requests in flight. */
async function sending(rig: Rig, settings: Readonly<Record<string, string>> = {}): Promise<RigProcess> {
  await rig.submit();
  const worker = rig.launchWorker('one', { settings: { PAYRUN_CONCURRENCY: '4', ...settings } });
  await rig.until('requests in flight', () => rig.service.counters().payments >= 8);
  return worker;
}

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  faultRow({
    ids: ['F54'],
    fault: `${signal} with payment requests in flight: they are waited for`,
    tries: signal === 'SIGINT' ? { long: 2 } : { short: 1, long: 2 },
    times: { quoteLifeMs: 5000 },
    switches: { answerDelayMs: { payments: 400 } },
    async body(rig) {
      const worker = await sending(rig);
      worker.kill(signal);
      expect(await worker.ended).toMatchObject({ code: 0 });
      const { ready = 0, accepted = 0, completed = 0 } = await rig.states();
      expect(ready).toBeGreaterThan(0);
      expect({ ready, ended: accepted + completed }).toEqual({
        ready: rig.rows - rig.book().length,
        ended: rig.book().length,
      });
      await rig.startWorker('one');
    },
    after: oneRequestEach,
  });
}

faultRow({
  ids: ['F54'],
  fault: `SIGTERM while the service is silent: the worker ends within the ${STOP_MS_MAX / 1000} s that a container has`,
  tries: { short: 1, long: 2 },
  times: { quoteLifeMs: 5000 },
  switches: { timeoutAfterCommit: 1 },
  async body(rig) {
    await rig.submit();
    const worker = rig.launchWorker('one', { settings: { PAYRUN_CONCURRENCY: '4', PAYRUN_REQUEST_TIMEOUT: '45s' } });
    await rig.booked(4);
    worker.kill('SIGTERM');
    const late = setTimeout(() => worker.kill('SIGKILL'), STOP_MS_MAX);
    const ended = await worker.ended;
    clearTimeout(late);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stderr).toContain('Ended with requests in flight');
    rig.service.switches.set({ timeoutAfterCommit: 0 });
    await rig.startWorker('one');
  },
  after: oneRequestEach,
});

faultRow({
  ids: ['F54'],
  fault: 'SIGTERM twice: the worker ends at once, and what it had sent is looked up',
  tries: { short: 1, long: 2 },
  times: { quoteLifeMs: 5000 },
  switches: { answerDelayMs: { payments: 600 } },
  async body(rig) {
    const worker = await sending(rig);
    worker.kill('SIGTERM');
    await worker.said('is stopping');
    worker.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 130 });
    expect((await rig.states())['armed']).toBeGreaterThan(0);
    rig.service.switches.set({ answerDelayMs: { payments: 0 } });
    await rig.startWorker('one');
  },
  after: oneRequestEach,
});

/** A copy of the present build whose ledger has a newer layout. */
function newerBuild(rig: Rig): string {
  const folder = join(rig.folder, 'newer');
  cpSync(rig.processes.built, folder, { recursive: true });
  const head = join(folder, 'src/ledger/season/refuse-ledger.js');
  const text = readFileSync(head, 'utf8');
  const newer = text.replace(`SCHEMA_VERSION = ${SCHEMA_VERSION}`, `SCHEMA_VERSION = ${SCHEMA_VERSION + 1}`);
  expect(newer).not.toBe(text);
  writeFileSync(head, newer);
  return join(folder, 'src/cli/main.js');
}

async function isTooOld(rig: Rig): Promise<void> {
  const old = rig.launchWorker('one');
  await expect(old.said('is ready')).rejects.toThrow(/newer payrun .*\n.*Use the newer payrun/);
  expect(await old.ended).toMatchObject({ code: 2 });
}

/** A worker of another build, with the settings of worker `one`. */
async function startNewer(rig: Rig, main: string): Promise<Started> {
  const place = { cwd: rig.folder, env: rig.env('one') };
  const worker = rig.processes.start(['worker'], { ...place, main: relative(rig.processes.built, main) });
  await worker.said('is ready');
  return worker;
}

async function stopped(worker: Started): Promise<void> {
  worker.kill('SIGTERM');
  expect(await worker.ended).toMatchObject({ code: 0 });
}

faultRow({
  ids: ['F55'],
  fault: 'an older payrun is started on the ledger of a newer one',
  tries: { short: 1, long: 1 },
  ...SLOWLY,
  outcomes: 'any',
  async body(rig) {
    await stopped(await startNewer(rig, newerBuild(rig)));
    await isTooOld(rig);
    // For the judge, whose commands are older too.
    await rig.redis.client.hset('{payrun}:head', 'schema', SCHEMA_VERSION);
  },
});

faultRow({
  ids: ['F55'],
  fault: 'a newer payrun goes on with a run of an older one, which is started again',
  tries: { short: 1, long: 1 },
  ...SLOWLY,
  async body(rig) {
    await rig.submit();
    const old = await rig.startWorker('one');
    await rig.booked(5);
    await stopped(old);
    const newer = await startNewer(rig, newerBuild(rig));
    await rig.booked(15);
    await isTooOld(rig);
    await allPaid(rig);
    await stopped(newer);
    await rig.redis.client.hset('{payrun}:head', 'schema', SCHEMA_VERSION);
  },
});

faultRow({
  ids: ['F61'],
  fault: 'two payrun run of one file at the same moment, with no Redis running',
  tries: { short: 1, long: 100 },
  rows: 10,
  // Neither the rig's Redis nor its service is used: the file is paid through the sandbox that payrun starts itself.
  outcomes: 'any',
  async body(rig) {
    // For the judge, whose commands want a ledger there.
    await stopped(await rig.startWorker('one'));
    writeFileSync(join(rig.folder, 'payouts.csv'), rig.file);
    const place = { cwd: rig.folder };
    const both = [1, 2].map(() => rig.processes.start(['run', 'payouts.csv'], place));
    let serversMost = 0;
    while (both.some(({ hasEnded }) => !hasEnded)) {
      serversMost = Math.max(serversMost, redisServersBelow(rig.folder).length);
      await delay(20);
    }
    const ended = await Promise.all(both.map((started) => started.ended));
    expect(ended.map(({ code, stderr }) => (code === 0 ? 0 : stderr))).toEqual([0, 0]);
    const book = readBook(join(rig.folder, '.payrun/sandbox'));
    expect(bookFaults(rig.file, book)).toEqual([]);
    for (const { stdout } of ended) {
      const report = readFileSync(/^report (.+\.csv)$/m.exec(stdout)?.[1] ?? '', 'utf8');
      expect(reportFaults(rig.file, book, report)).toEqual([]);
    }
    expect(new Set(ended.map(({ stdout }) => /^run +(\S+),/m.exec(stdout)?.[1])).size).toBe(1);
    expect(serversMost).toBe(1);
    expect(redisServersBelow(rig.folder)).toEqual([]);
  },
});
