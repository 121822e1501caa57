import { hostname } from 'node:os';
import type { Redis } from 'ioredis';
import type { LivingWorker } from '../src/runs/safety/adopt-settings.ts';

/** A worker that was killed counts as one that lives no longer than this: five times as long as it waits before it says so again. */
const LEASE_MS = 10_000;
/** So long a host counts as lost whose workers were killed; then it is forgotten. */
const LOST_MS = 24 * 60 * 60 * 1000;

/** A host whose workers did not shut down properly, and on which none lives. */
export interface LostHost {
  readonly host: string;
  /** When its last worker was last seen, in milliseconds since 1970 of Redis's clock. */
  readonly seenAt: number;
}

/** The workers of a ledger that live: each says so again and again. */
export interface Living {
  /** This process works. */
  note(): Promise<void>;
  /** It works no more. */
  leave(): Promise<void>;
  all(): Promise<readonly LivingWorker[]>;
  /** Hosts that were lost in the last day. */
  lostHosts(): Promise<readonly LostHost[]>;
}

/** They stand in a sorted set, each under the time by Redis's clock, in milliseconds, until which it is taken to live. */
export function openLiving(redis: Redis, prefix: string, { leaseMs = LEASE_MS } = {}): Living {
  const key = `${prefix}:living`;
  const self = `${process.pid} ${hostname()}`;

  async function now(): Promise<number> {
    const [seconds, microseconds] = await redis.time();
    return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  }

  async function read() {
    const from = await now();
    await redis.zremrangebyscore(key, '-inf', from - LOST_MS);
    const found = await redis.zrange(key, 0, -1, 'WITHSCORES');
    const workers = found.flatMap((member, index) => {
      const [pid = '', ...host] = member.split(' ');
      const until = Number.parseInt(found[index + 1] ?? '', 10);
      return index % 2 === 0 ? [{ host: host.join(' '), pid: Number.parseInt(pid, 10), until }] : [];
    });
    return {
      // One from before a step of the clock would live until the clock is there again.
      living: workers.filter(({ until }) => until > from && until <= from + leaseMs),
      ended: workers.filter(({ until }) => until <= from),
    };
  }

  return {
    async note() {
      await redis.zadd(key, (await now()) + leaseMs, self);
    },
    async leave() {
      await redis.zrem(key, self);
    },
    async all() {
      return (await read()).living.map(({ host, pid }) => ({ host, pid }));
    },
    async lostHosts() {
      const { living, ended } = await read();
      const seenAt = new Map(ended.map(({ host, until }) => [host, until - leaseMs]));
      for (const { host } of living) seenAt.delete(host);
      return [...seenAt].map(([host, at]) => ({ host, seenAt: at }));
    },
  };
}
