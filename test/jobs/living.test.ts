import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openLiving } from '../../jobs/living.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';

const OURS = { host: hostname(), pid: process.pid };

const server = await useTestRedis();
let redis: Redis;
let prefix: string;

beforeAll(async () => {
  redis = await connectRedis({ socket: server.socket }, { name: 'test', kind: 'jobs' });
});
afterAll(async () => {
  redis.disconnect();
});
beforeEach(() => {
  prefix = `${freshPrefix()}:bull`;
});

test('a worker is among those that live, by its host and process, until it leaves', async () => {
  const living = openLiving(redis, prefix);
  expect(await living.all()).toEqual([]);
  await living.note();
  await living.note();
  expect(await living.all()).toEqual([OURS]);
  await living.leave();
  expect(await living.all()).toEqual([]);
});

test('one that was killed is no longer among them once its lease has run out', async () => {
  const living = openLiving(redis, prefix, { leaseMs: 50 });
  await living.note();
  await expect.poll(() => living.all()).toEqual([]);
});

test('a lease that a backward step of the clock left far ahead keeps nobody alive', async () => {
  await openLiving(redis, prefix, { leaseMs: 3_600_000 }).note();
  expect(await openLiving(redis, prefix).all()).toEqual([]);
});

test('a host whose workers were all killed is lost, until one lives there again', async () => {
  const brief = openLiving(redis, prefix, { leaseMs: 50 });
  const before = Date.now();
  await brief.note();
  expect(await brief.lostHosts()).toEqual([]);
  await expect.poll(() => brief.all()).toEqual([]);
  const [lost, ...more] = await brief.lostHosts();
  expect(lost?.host).toBe(OURS.host);
  expect(lost?.seenAt).toBeGreaterThanOrEqual(before - 1);
  expect(more).toEqual([]);
  await redis.zadd(`${prefix}:living`, Date.now() + 8_000, `1 ${OURS.host}`);
  expect(await openLiving(redis, prefix).lostHosts()).toEqual([]);
});

test('a host whose workers stopped by themselves is not lost', async () => {
  const brief = openLiving(redis, prefix, { leaseMs: 50 });
  await brief.note();
  await brief.leave();
  expect(await brief.lostHosts()).toEqual([]);
});

test('a lost host is forgotten after a day', async () => {
  const DAY_MS = 86_400_000;
  await redis.zadd(`${prefix}:living`, Date.now() - DAY_MS - 1000, '1 gone');
  expect(await openLiving(redis, prefix).lostHosts()).toEqual([]);
});
