import type { Rules } from './rules.ts';

/* What Redis holds of two payouts with one reference, each alone in its run, and what its scripts do to it. */

export const PAYOUTS = [0, 1] as const;
export type Which = (typeof PAYOUTS)[number];
export type Pair<T> = readonly [T, T];

export interface Payout {
  /** `accepted` stands for all that follows from it, too. */
  readonly state: 'absent' | 'ready' | 'held' | 'unknown' | 'accepted' | 'rejected' | 'cancelled';
  /** Why it is held. */
  readonly why: '' | 'duplicate' | 'limit' | 'lost' | 'breach';
  /** Spent and not proven dead; 0: none. */
  readonly quote: number;
  readonly counter: number;
  /** Whether allowing it takes the reference (`rfh`). */
  readonly takesReference: boolean;
  /** To allow it; stale when the other payout has moved since. */
  readonly proposal: 'none' | 'made' | 'stale';
  readonly isLifted: boolean;
  /** Before allowing took the reference: it goes without. */
  readonly isExempt: boolean;
}

/**
 * `paying` also before its time, or without work: nothing has to happen here. `stub` is known from an intent log alone, until
 * its file comes again.
 */
export type Run = 'absent' | 'stub' | 'paying' | 'paused' | 'cancelled';

/** An entry of the audit log; its hash covers what came before. */
export interface Entry {
  readonly place: number;
  readonly hash: number;
  readonly previous: number;
  readonly act: string;
}

export interface Redis {
  readonly server: number;
  /** The server whose season is open; 0: none. */
  readonly season: number;
  /** For each data directory the server for which it compared; 0: it has only entered. */
  readonly dirs: Readonly<Record<string, number>>;
  /** For each data directory those that it has noted on its disk. */
  readonly peers: Readonly<Record<string, string>>;
  /** Directories that two people gave up. */
  readonly givenUp: string;
  readonly forgotten: string;
  readonly isHalted: boolean;
  readonly isBlocked: boolean;
  readonly runs: Pair<Run>;
  readonly payouts: Pair<Payout>;
  readonly holder: Which | null;
  readonly armings: number;
  /** Whose each quote is that this Redis knows. */
  readonly quotes: Readonly<Record<number, Which>>;
  readonly audit: readonly Entry[];
  /** Hashes of entries that were lost and put back, and of those whose loss was told. */
  readonly putBack: readonly number[];
  readonly told: readonly number[];
}

const ABSENT: Payout = {
  state: 'absent',
  why: '',
  quote: 0,
  counter: 0,
  takesReference: false,
  proposal: 'none',
  isLifted: false,
  isExempt: false,
};

export const EMPTY: Redis = {
  server: 1,
  season: 1,
  dirs: {},
  peers: {},
  givenUp: '',
  forgotten: '',
  isHalted: false,
  isBlocked: false,
  runs: ['absent', 'absent'],
  payouts: [ABSENT, ABSENT],
  holder: null,
  armings: 0,
  quotes: {},
  audit: [],
  putBack: [],
  told: [],
};

export function other(which: Which): Which {
  return which === 0 ? 1 : 0;
}

export function put<T>([first, second]: Pair<T>, which: Which, value: T): Pair<T> {
  return which === 0 ? [value, second] : [first, value];
}

/** A move of a payout: a proposal to allow it is void then, and one to allow the other was made on other words. */
export function move(redis: Redis, which: Which, change: Partial<Payout>): Redis {
  const moved: Payout = { ...redis.payouts[which], proposal: 'none', why: '', ...change };
  const beside = redis.payouts[other(which)];
  const payouts = put(redis.payouts, which, moved);
  if (beside.proposal !== 'made') return { ...redis, payouts };
  return { ...redis, payouts: put(payouts, other(which), { ...beside, proposal: 'stale' }) };
}

export function setRun(redis: Redis, which: Which, run: Run): Redis {
  return { ...redis, runs: put(redis.runs, which, run) };
}

export function pauseAll(redis: Redis): Redis {
  return PAYOUTS.reduce((now, which) => (now.runs[which] === 'paying' ? setRun(now, which, 'paused') : now), redis);
}

/** Design 6: a reference is free again when its payout came to nothing for certain. */
function isFree({ state }: Payout): boolean {
  return state === 'rejected' || state === 'cancelled';
}

/** RECORD: a file is handed in, and its run begins. What an intent log brought back is given its row. */
export function handIn(redis: Redis, which: Which): Redis {
  if (redis.runs[which] === 'stub') {
    const holder = redis.holder ?? which;
    return setRun({ ...redis, holder }, which, 'paused');
  }
  const { holder } = redis;
  const isTaken = holder !== null && holder !== which && !isFree(redis.payouts[holder]);
  const recorded = isTaken
    ? move(redis, which, { state: 'held', why: 'duplicate', takesReference: true })
    : move({ ...redis, holder: which }, which, { state: 'ready' });
  return setRun(recorded, which, redis.isHalted ? 'paused' : 'paying');
}

/** ARM: why a ready payout must not be armed from a directory now. */
export function armRefusal(redis: Redis, which: Which, at: { dir: string; rules: Rules }): string | null {
  const payout = redis.payouts[which];
  if (redis.season !== redis.server || redis.dirs[at.dir] !== redis.server) return 'season';
  if (redis.isHalted) return 'halted';
  if (redis.runs[which] !== 'paying') return 'run';
  const isOwn = redis.holder === null || redis.holder === which;
  if (at.rules.armingComparesReference && !payout.isExempt && !isOwn) return 'reference';
  return redis.isBlocked ? 'blocked' : null;
}

export function arm(redis: Redis, which: Which, quote: number): Redis {
  const counter = redis.armings + 1;
  const quotes = { ...redis.quotes, [quote]: which };
  const armed = { ...redis, armings: counter, quotes, holder: redis.holder ?? which };
  return move(armed, which, { state: 'unknown', quote, counter });
}

/** Whether a payout may come to an end in which its reference is free: another host may have sent it. */
export function mayEnd({ season, server }: Redis, { nothingEndsInClosedSeason }: Rules): boolean {
  return season === server || !nothingEndsInClosedSeason;
}

/** The run is over at once; its payout as soon as it may end. */
export function cancelRun(redis: Redis, which: Which, rules: Rules): Redis {
  const cancelled = setRun(redis, which, 'cancelled');
  const isReady = redis.payouts[which].state === 'ready';
  return isReady && mayEnd(redis, rules) ? move(cancelled, which, { state: 'cancelled' }) : cancelled;
}

/** MOVE, held -> ready: what two people allowed. */
export function allow(redis: Redis, which: Which, rules: Rules): Redis {
  const { takesReference, why } = redis.payouts[which];
  const takes = takesReference && rules.allowingTakesReference;
  const taken = takes ? { ...redis, holder: which } : redis;
  const isExempt = takesReference && !rules.allowingTakesReference;
  return move(taken, which, { state: 'ready', takesReference: false, isLifted: why === 'limit', isExempt });
}
