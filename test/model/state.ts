import { EMPTY, type Pair, type Redis, type Which } from './ledger.ts';
import type { Host } from './season.ts';

/** How often something may still happen. */
export interface Left {
  /** How many files there are, each with a row of the one reference. */
  readonly files: number;
  readonly armings: number;
  /** Copies of Redis, and how often one is put back. */
  readonly copies: number;
  readonly restores: number;
  /** The first directory is copied as a second host. */
  readonly clones: number;
  /** The first directory is saved, and put back. */
  readonly savings: number;
  /** The first host is lost, or an id that no host has any more, and two people give it up. */
  readonly losses: number;
  readonly halts: number;
  readonly blocks: number;
  readonly cancels: number;
  /** After a copy was put back: anything else that stands on the audit log. */
  readonly settings: number;
  readonly drops: number;
  /** Proposals to allow a payout. */
  readonly allowings: number;
  readonly limits: number;
  /** Payouts that the service refuses before they are armed. */
  readonly refusals: number;
}

export const NOTHING: Left = {
  files: 2,
  armings: 0,
  copies: 0,
  restores: 0,
  clones: 0,
  losses: 0,
  savings: 0,
  halts: 0,
  blocks: 0,
  cancels: 0,
  settings: 0,
  drops: 0,
  allowings: 0,
  limits: 0,
  refusals: 0,
};

/** What is so, whoever knows it. */
export interface Truth {
  /** For each quote that was ever armed whether it made its payment. */
  readonly quotes: readonly boolean[];
  readonly wasHandedIn: Pair<boolean>;
  /** Hashes of the entries by which people halted, blocked and cancelled, as long as they stand; 0: they do not. */
  readonly halted: number;
  readonly blocked: number;
  readonly cancelled: Pair<number>;
  readonly decided: number;
  /** A directory was given up: what it alone knew is lost. */
  readonly hasGivenUp: boolean;
  readonly servers: number;
}

export interface World {
  readonly redis: Redis;
  readonly copy: Redis | null;
  readonly hosts: readonly Host[];
  readonly saved: Host | null;
  /** The payout that the second person was shown, and is about to allow. */
  readonly confirming: Which | null;
  readonly truth: Truth;
  readonly left: Left;
  /** What an arming broke. */
  readonly broken: string | null;
}

/** An empty ledger, whose hosts have noted each other. */
export function firstWorld(left: Left, dirs = 'a'): World {
  const ids = dirs.split('');
  return {
    redis: {
      ...EMPTY,
      dirs: Object.fromEntries(ids.map((id) => [id, EMPTY.server])),
      peers: Object.fromEntries(ids.map((id) => [id, dirs])),
    },
    hosts: ids.map((id) => ({ id, isLost: false, lines: [], copies: [], peers: dirs })),
    copy: null,
    saved: null,
    confirming: null,
    truth: {
      quotes: [],
      wasHandedIn: [false, false],
      halted: 0,
      blocked: 0,
      cancelled: [0, 0],
      decided: 0,
      hasGivenUp: false,
      servers: 1,
    },
    left,
    broken: null,
  };
}

export type Act = readonly [name: string, World];

export function spend(world: World, kind: keyof Left): World {
  return { ...world, left: { ...world.left, [kind]: world.left[kind] - 1 } };
}

export function payments({ truth }: World): number {
  return truth.quotes.filter(Boolean).length;
}

/** The rule that a state of the world breaks. */
export function breachOf(world: World): string | null {
  return payments(world) > 1 ? 'paid twice' : world.broken;
}
