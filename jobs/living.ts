import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import type { LivingWorker } from '../src/runs/safety/adopt-settings.ts';

/** A worker that was killed counts as one that lives no longer than this. */
const LEASE_MS = 30_000;

/** The workers of a ledger that live: each says so again and again. */
export interface Living {
  /** This process works. */
  note(): Promise<void>;
  /** It works no more. */
  leave(): Promise<void>;
  all(): Promise<readonly LivingWorker[]>;
}

/** They stand in a sorted set, each under the time by Redis's clock, in milliseconds, until which it is taken to live. */
export function openLiving(redis: Redis, prefix: string, { leaseMs = LEASE_MS } = {}): Living {
  const key = `${prefix}:living`;
  const self = `${process.pid} ${hostname()}`;

  async function now(): Promise<number> {
    const [seconds, microseconds] = await redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  }

  return {
    async note() {
      await redis.zadd(key, (await now()) + leaseMs, self);
    },
    async leave() {
      await redis.zrem(key, self);
    },
    async all() {
      const from = await now();
      await redis.zremrangebyscore(key, '-inf', from);
      // One from before a step of the clock would live until the clock is there again.
      const members = await redis.zrangebyscore(key, `(${from}`, from + leaseMs);
      return members.map((member) => {
        const [pid = '', ...host] = member.split(' ');
        return { host: host.join(' '), pid: Number.parseInt(pid, 10) };
      });
    },
  };
}
