import { statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { onceForwarded, onReplyTo } from '../support/proxy-moment.ts';
import { DEPTH } from './depth.ts';
import { missingRoot } from './needs.ts';
import type { RedisProcess } from './redis-process.ts';
import { ARMING, appendedFile, armings, intentsOf, nothingSentFor, rowsFrom, SLOWLY } from './redis-steps.ts';
import { type Rig, redisUrlOf } from './rig.ts';
import { faultRow } from './row.ts';

/** Three times the arm deadline in CI. */
const awayMs = (fullMs: number): number => (DEPTH === 'short' ? 4000 : fullMs);
const MEBIBYTE = 1024 * 1024;

/** A worker that is busy with the run. */
async function busy(rig: Rig): Promise<void> {
  await rig.submit();
  await rig.startWorker('one');
  await rig.booked(8);
}

faultRow({
  ids: ['F10'],
  fault: 'Redis is killed with -9 in the middle and started again',
  tries: { short: 1, long: 3 },
  ...SLOWLY,
  async body(rig) {
    await busy(rig);
    await rig.redis.kill();
    await rig.redis.start();
  },
});

faultRow({
  ids: ['F11'],
  fault: 'Redis stands still, and the worker is killed with -9 meanwhile',
  tries: { short: 1, long: 2 },
  ...SLOWLY,
  async body(rig) {
    await busy(rig);
    rig.redis.signal('SIGSTOP');
    await nothingSentFor(rig, awayMs(60_000));
    rig.started.at(-1)?.kill('SIGKILL');
    rig.redis.signal('SIGCONT');
    await rig.startWorker('one');
  },
});

faultRow({
  ids: ['F11'],
  fault: 'Redis stands still, and the worker waits',
  tries: { short: 1, long: 2 },
  ...SLOWLY,
  async body(rig) {
    await busy(rig);
    rig.redis.signal('SIGSTOP');
    await nothingSentFor(rig, awayMs(60_000));
    rig.redis.signal('SIGCONT');
  },
});

faultRow({
  ids: ['F12'],
  fault: 'Redis sleeps (DEBUG SLEEP)',
  tries: { short: 1, long: 2 },
  ...SLOWLY,
  async body(rig) {
    await busy(rig);
    const ms = awayMs(20_000);
    const slept = rig.redis.client.call('DEBUG', 'SLEEP', String(ms / 1000));
    await nothingSentFor(rig, ms - 500);
    await slept;
  },
});

faultRow({
  ids: ['F13'],
  fault: 'Redis takes no writes for a while (CLIENT PAUSE WRITE)',
  tries: { short: 1, long: 2 },
  ...SLOWLY,
  async body(rig) {
    await busy(rig);
    const ms = awayMs(15_000);
    await rig.redis.client.call('CLIENT', 'PAUSE', String(ms), 'WRITE');
    await nothingSentFor(rig, ms - 500);
    await delay(500);
  },
});

for (const [words, when] of [
  ['the connection is cut when the request of an arming has reached Redis', onceForwarded(ARMING)],
  ['the connection is cut when the reply to an arming leaves Redis', onReplyTo(ARMING)],
] as const) {
  faultRow({
    ids: ['F14'],
    fault: words,
    tries: { short: 1, long: 2 },
    rows: 24,
    ...SLOWLY,
    async body(rig) {
      await rig.submit();
      const cut = rig.redisLink.set({ do: 'cut', when, connectionsMax: 5 });
      await rig.startWorker('one');
      await rig.until('five lost armings', () => cut.hits === 5);
    },
    async after(rig) {
      // What was armed without an answer has no line, and without a line nothing is sent.
      const lines = intentsOf(rig).length;
      expect(rig.service.counters().payments).toBeLessThanOrEqual(lines);
      expect(await armings(rig)).toBeGreaterThanOrEqual(lines);
      expect(rig.service.counters().quotes).toBeGreaterThan(rig.rows);
    },
  });
}

faultRow({
  ids: ['F14'],
  fault: 'an arming connection loses all replies and stays open',
  tries: { short: 1, long: 2 },
  ...SLOWLY,
  async body(rig) {
    await rig.submit();
    const lost = rig.redisLink.set({ do: 'swallow', ways: ['reply'], when: onReplyTo(ARMING), connectionsMax: 1 });
    await rig.startWorker('one');
    await rig.until('lost replies', () => lost.hits === 1);
  },
});

faultRow({
  ids: ['F10'],
  fault: 'Redis is killed with -9 and started again, and the file was submitted on a machine that never pays',
  tries: { short: 1, long: 2 },
  ...SLOWLY,
  async body(rig) {
    await rig.submit({ from: 'elsewhere' });
    await rig.startWorker('one');
    await rig.booked(8);
    await rig.redis.kill();
    await rig.redis.start();
  },
});

/** A worker on this Redis ends at once, for settings to mend, and has asked the service for nothing. */
async function isRefused(rig: Rig, words: string, redis: RedisProcess = rig.redis): Promise<void> {
  const asked = rig.service.counters();
  const link = await rig.linkTo(redis.socket);
  const ended = await rig.launchWorker('one', { redisUrl: redisUrlOf(link) }).ended;
  expect(ended).toMatchObject({ code: 2 });
  expect(ended.stderr).toContain(words);
  expect(rig.service.counters()).toEqual(asked);
}

async function stopped(rig: Rig): Promise<void> {
  const worker = rig.started.at(-1);
  worker?.kill('SIGTERM');
  expect(await worker?.ended).toMatchObject({ code: 0 });
}

faultRow({
  ids: ['F18'],
  fault: 'a worker is pointed to an empty Redis, and to one with another ledger',
  tries: { short: 1, long: 1 },
  ...SLOWLY,
  async body(rig) {
    await busy(rig);
    await stopped(rig);
    const other = await rig.anotherRedis();
    await isRefused(rig, 'belongs to a ledger that this Redis does not hold', other);
    expect(await other.client.dbsize()).toBe(0);
    const link = await rig.linkTo(other.socket);
    const stranger = await rig.startWorker('stranger', { redisUrl: redisUrlOf(link) });
    stranger.kill('SIGTERM');
    await stranger.ended;
    await isRefused(rig, 'belongs to another ledger', other);
    await rig.startWorker('one');
  },
});

faultRow({
  ids: ['F19'],
  fault: 'Redis syncs each second, may evict keys, does not refuse a cut log, or is a replica',
  tries: { short: 1, long: 1 },
  ...SLOWLY,
  async body(rig) {
    await busy(rig);
    await stopped(rig);
    for (const [setting, wrong, right] of [
      ['appendfsync', 'everysec', 'always'],
      ['maxmemory-policy', 'allkeys-lru', 'noeviction'],
      ['no-appendfsync-on-rewrite', 'yes', 'no'],
      ['aof-load-truncated', 'yes', 'no'],
    ] as const) {
      await rig.redis.client.config('SET', setting, wrong);
      await isRefused(rig, setting);
      await rig.redis.client.config('SET', setting, right);
    }
    await rig.redis.client.replicaof('127.0.0.1', 1);
    await isRefused(rig, 'role is slave, must be master');
    await rig.redis.client.replicaof('NO', 'ONE');
    await rig.startWorker('one');
  },
});

faultRow({
  ids: ['F20'],
  fault: 'Redis is at its memory limit',
  tries: { short: 1, long: 2 },
  outcomes: { paid: 40 },
  ...SLOWLY,
  async body(rig) {
    await rig.submit({ file: rowsFrom(rig.file, 1, 30) });
    await rig.startWorker('one');
    await rig.booked(8);
    await rig.redis.client.config('SET', 'maxmemory', '1mb');
    const second = { name: 'second.csv', file: rowsFrom(rig.file, 31, 40) };
    await expect(rig.submit(second)).rejects.toThrow(/payrun submit ended with \d+: .*memory/is);
    await nothingSentFor(rig, 6000);
    await rig.redis.client.config('SET', 'maxmemory', '0');
    await rig.submit(second);
  },
});

faultRow({
  ids: ['F21'],
  fault: "Redis's disk is full: it ends, and is started again when there is space",
  tries: { short: 1, long: 2 },
  missing: missingRoot(),
  redis: { memoryMiB: 8 },
  ...SLOWLY,
  async body(rig) {
    await busy(rig);
    const filler = join(rig.redis.dir, 'filler');
    const free = 8 * MEBIBYTE - statSync(appendedFile(rig.redis)).size - 64 * 1024;
    writeFileSync(filler, Buffer.alloc(free));
    await rig.until('the end of Redis', () => !rig.redis.isRunning);
    unlinkSync(filler);
    await rig.redis.start();
  },
});
