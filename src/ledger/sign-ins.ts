import type { Redis } from 'ioredis';
import type { LedgerKeys } from './keys.ts';
import { integerOf, runScript, script } from './script.ts';
import { COUNT_REFUSED, FORGIVE_TRY, TAKE_TRY } from './scripts/people.ts';

/** Something by which tries are counted. */
export interface TryLimit {
  /** A hash: neither names nor addresses are stored. */
  readonly what: string;
  readonly freeMax: number;
  readonly waitMsMax: number;
}

/** One try: by the account from the address, by the address, by the account. */
export type TryLimits = readonly [pair: TryLimit, address: TryLimit, account: TryLimit];

/** Tries to sign in, counted over all processes. */
export interface SignIns {
  /** Milliseconds to wait, 0 when the try was taken; it counts as failed until it is forgiven. */
  take(limits: TryLimits, times: { now: number; rememberMs: number }): Promise<number>;
  /** The last try was right, and this account is known to sign in from this address. */
  forgive(limits: TryLimits, knownMs: number): Promise<void>;
  /** How many were refused within the present period, this one included. */
  countRefused(periodMs: number): Promise<number>;
}

export function openSignIns(redis: Redis, { prefix }: LedgerKeys): SignIns {
  const takeScript = script(TAKE_TRY);
  const forgiveScript = script(FORGIVE_TRY);
  const refusedScript = script(COUNT_REFUSED);
  return {
    async take(limits, { now, rememberMs }) {
      const counted = limits.flatMap(({ what, freeMax, waitMsMax }) => [what, freeMax, waitMsMax]);
      return integerOf(await runScript(redis, takeScript, { prefix, args: [now, rememberMs, ...counted] }));
    },
    async forgive(limits, knownMs) {
      await runScript(redis, forgiveScript, { prefix, args: [knownMs, ...limits.map(({ what }) => what)] });
    },
    async countRefused(periodMs) {
      return integerOf(await runScript(redis, refusedScript, { prefix, args: [periodMs] }));
    },
  };
}
