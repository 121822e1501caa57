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
