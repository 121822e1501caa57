import type { Redis } from 'ioredis';
import type { LedgerKeys } from '../keys.ts';
import { integerOf, runScript, script } from '../script.ts';
import { COUNT_REFUSED, FORGIVE_TRY, TAKE_TRY } from '../scripts/people.ts';

/** Something by which tries are counted. */
export interface TryLimit {
  /** A hash: neither names nor addresses are stored. */
  readonly what: string;
  readonly freeMax: number;
  readonly waitMsMax: number;
}

/** All by which one try is counted; a right one forgives all tries by the first. */
export type TryLimits = readonly [TryLimit, ...TryLimit[]];

/** Tries to sign in, counted over all processes. */
export interface SignIns {
  /** Milliseconds to wait, 0 when the try was taken; it counts as failed until it is forgiven. */
  take(limits: TryLimits, times: { now: number; rememberMs: number }): Promise<number>;
  /** The last try was right. */
  forgive(limits: TryLimits): Promise<void>;
  /** Remembers for a while that somebody signed in by what this is the hash of. */
  know(what: string, ms: number): Promise<void>;
  isKnown(what: string): Promise<boolean>;
  /** True for the first who uses it; it is remembered for a while. */
  useOnce(what: string, ms: number): Promise<boolean>;
  /** The sealed secret of an authenticator app that is being set up. */
  keepOffer(what: string, secret: string, ms: number): Promise<void>;
  offer(what: string): Promise<string | undefined>;
  dropOffer(what: string): Promise<void>;
  /** How many were refused within the present period, this one included. */
  countRefused(periodMs: number): Promise<number>;
}

export function openSignIns(redis: Redis, keys: LedgerKeys): SignIns {
  const { prefix } = keys;
  const takeScript = script(TAKE_TRY);
  const forgiveScript = script(FORGIVE_TRY);
  const refusedScript = script(COUNT_REFUSED);
  return {
    async take(limits, { now, rememberMs }) {
      const counted = limits.flatMap(({ what, freeMax, waitMsMax }) => [what, freeMax, waitMsMax]);
      return integerOf(await runScript(redis, takeScript, { prefix, args: [now, rememberMs, ...counted] }));
    },
    async forgive(limits) {
      await runScript(redis, forgiveScript, { prefix, args: limits.map(({ what }) => what) });
    },
    async know(what, ms) {
      await redis.set(keys.signIn(`known:${what}`), '1', 'PX', ms);
    },
    async isKnown(what) {
      return (await redis.exists(keys.signIn(`known:${what}`))) === 1;
    },
    async useOnce(what, ms) {
      return (await redis.set(keys.signIn(`used:${what}`), '1', 'PX', ms, 'NX')) === 'OK';
    },
    async keepOffer(what, secret, ms) {
      await redis.set(keys.signIn(`offer:${what}`), secret, 'PX', ms);
    },
    async offer(what) {
      return (await redis.get(keys.signIn(`offer:${what}`))) ?? undefined;
    },
    async dropOffer(what) {
      await redis.del(keys.signIn(`offer:${what}`));
    },
    async countRefused(periodMs) {
      return integerOf(await runScript(redis, refusedScript, { prefix, args: [periodMs] }));
    },
  };
}
