import type { Redis } from 'ioredis';
import type { LedgerKeys } from '../keys.ts';
import { openLookSooner } from '../payouts/look-sooner.ts';
import { bySecondPerson } from '../people/second-person.ts';
import { integerOf, listOf, redisTime, runScript, script, textOf, textsOf, wordOf } from '../script.ts';
import { BRING_FORWARD, FORGET_STEP, LOOK_AT_CLOCK, TAKE_TURN } from '../scripts/clock.ts';
import { COMPARE_LINES } from '../scripts/compare.ts';
import {
  ADOPT_SAFETY,
  DISPROVE,
  HALT,
  HOLD,
  NOTE_DURABILITY,
  OPEN_HEAD,
  SWAP_RATE,
  SWAP_SAFETY,
  TAKE_PACE,
} from '../scripts/head.ts';
import { ENTER_DIR, NOTE_PEERS, READ_SEASON } from '../scripts/season.ts';
import { type HeadFacts, headFactsOf, type WeakTime, weakTimeOf } from './head-facts.ts';
import { refuseHead, requireOurs, SCHEMA_VERSION, SCHEMA_VERSION_MIN } from './refuse-ledger.ts';

/** Less than the 50 ms that would let a tenth of a second hold more than 1.5 times its share. */
const MADE_UP_MICROSECONDS_MAX = 25_000;

/** What is paced over all workers. */
const PACES = ['pay', 'track'] as const;
const BROUGHT_PER_CALL = 1000;

const RELEASE_RESULTS = ['proposed', 'released', 'same-person', 'not-halted', 'changed', 'season'] as const;
/** `season`: data directories have yet to compare their intent logs, so nobody knows what a release would let go. */
export type ReleaseResult = (typeof RELEASE_RESULTS)[number];

export interface Season {
  readonly open: boolean;
  /** The server's `run_id` and `master_replid`. */
  readonly server: string;
  /** Data directories that have yet to compare their intent logs. */
  readonly missing: readonly string[];
  /** All data directories that may arm. */
  readonly dataDirIds: readonly string[];
  /** Those that keep the caller's own one waiting, for one of the two has not noted the other. */
  readonly strangers: readonly string[];
  /** The server whose season it is, or the name of a closing; '' for one that never was open. */
  readonly name: string;
}

/** What a process says of itself when it opens the ledger. */
export interface HeadClaim {
  /** The ledger that the data directory belongs to; empty for a new directory. */
  readonly knownInstance: string;
  readonly newInstance: string;
  readonly service: string;
  /** What the safety rule depends on, as text. */
  readonly safety: string;
  /** Whether the process pays, and so must have the ledger's safety settings. */
  readonly requireMatch: boolean;
  /** Whether the process writes: an older payrun refuses the ledger from then on. */
  readonly writes?: boolean;
}

export interface LedgerState {
  /** Opens the ledger or makes it; throws a Refusal when it is not the one that this process may use. */
  open(claim: HeadClaim): Promise<string>;
  read(): Promise<HeadFacts>;
  /** Makes settings those of the ledger; false where it does not have those any more that the caller saw. */
  swapSafety(before: string, safety: string): Promise<boolean>;
  /** The same where it changes limits or approval: the first person proposes it, another one carries it out. */
  adoptSafetyByTwo(
    change: { readonly before: string; readonly safety: string },
    actor: string,
    seals: AdoptionSeals,
  ): Promise<'proposed' | 'adopted' | 'changed'>;
  /** `dataDirId`: the one of which is asked who keeps it waiting. */
  season(dataDirId?: string): Promise<Season>;
  /** The folder and host where each of these data directories was seen last. */
  dirPlaces(dataDirIds: readonly string[]): Promise<readonly (string | null)[]>;
  /**
   * Enters a data directory that may arm; from then on no season opens without it. False where it was written off. `hasLogs`: it may
   * have armed before.
   */
  enterDir(dataDirId: string, hasLogs?: boolean): Promise<boolean>;
  /** `season`: its name before the logs were read; left out where none are. */
  compare(part: {
    dataDirId: string;
    server: string;
    season?: string;
    last: boolean;
    json: string;
    /** Directories that this one has noted on its disk. */
    peers: readonly string[];
  }): Promise<{ result: string; restored: number; strangers: readonly string[] }>;
  /** Says which other directories a directory has noted on its disk: they may arm only then. */
  notePeers(dataDirId: string, peers: readonly string[]): Promise<void>;
  halt(actor: string, reason: string, act?: string): Promise<void>;
  /** Proposes it under a seal, or confirms a proposal that has the seal that was seen. */
  release(actor: string, seals: { readonly own: string; readonly seen: string }): Promise<ReleaseResult>;
  /** Takes back a proposal to release that nobody can have made. */
  voidRelease(): Promise<void>;
  /** Notes that the service lacks a capability; false when that was known. */
  disprove(capability: string, evidence: string): Promise<boolean>;
  /** Makes all workers and all operations wait. */
  hold(ms: number): Promise<void>;
  /** Takes places of a shared pace; milliseconds until the first of them. */
  takePace(what: string, places: { count: number; perSecond: number }): Promise<number>;
  /** Reads the shared rate, and writes the next one where it is still the one that was seen. */
  swapRate(seen: string, next: string): Promise<SharedRateText>;
  /** True for one process in each period, or until the turn is ended. */
  takeTurn(what: string, periodMs: number): Promise<boolean>;
  endTurn(what: string): Promise<void>;
  /** Notes which settings of Redis are less durable than they have to be now; none: all are well. */
  noteDurability(settings: readonly string[]): Promise<void>;
  weakTimes(): Promise<WeakTime[]>;
  /** Redis's time, in milliseconds since 1970. */
  now(): Promise<number>;
  /** Looks whether the clock of Redis stepped back, and lets nothing wait for it; gives by how many ms, or 0. */
  lookAtClock(): Promise<number>;
}

/** `seen`: of the proposal that was read, or ''; `isSecond`: it stands, is for the same settings, and is another person's. */
export interface AdoptionSeals {
  readonly own: string;
  readonly seen: string;
  readonly isSecond: boolean;
}

/** The shared rate as it stands, whether the caller has just written it, and the time by Redis. */
export interface SharedRateText {
  readonly text: string;
  readonly isOurs: boolean;
  readonly now: number;
}

/** What a process knows of armings besides what Redis says. */
export interface KnownArmings {
  /** The highest arming counter that it ever saw. */
  readonly highestCounter: () => number;
  /** Learns to which server its commands lead. */
  readonly sawServer: (server: string) => void;
}

const NONE_KNOWN: KnownArmings = { highestCounter: () => 0, sawServer() {} };

/**
 * The head of the ledger: whose it is, its season, what stops everybody, and what is shared by all workers.
 * `armings` is what this process knows of them, and learns.
 */
export function openLedgerState(redis: Redis, keys: LedgerKeys, armings: KnownArmings = NONE_KNOWN): LedgerState {
  const { prefix } = keys;
  const scripts = headScripts();
  const run: Run = (name, ...args) => runScript(redis, scripts[name], { prefix, args });

  return {
    async open({ knownInstance, newInstance, service, safety, requireMatch, writes = false }) {
      await requireOurs(redis, keys.head);
      const reply = await run(
        'open',
        knownInstance,
        newInstance,
        SCHEMA_VERSION,
        service,
        safety,
        flag(requireMatch),
        flag(writes),
        SCHEMA_VERSION_MIN,
      );
      const [result = '', instance = '', found = ''] = textsOf(reply);
      if (result === 'made' || result === 'opened') return instance;
      throw refuseHead(result, { found, service, safety });
    },
    async read() {
      return headFactsOf(await redis.hgetall(keys.head));
    },
    swapSafety: async (before, safety) => (await run('swapSafety', safety, before)) === 1,
    async adoptSafetyByTwo({ before, safety }, actor, { own, seen, isSecond }) {
      const word = textOf(await run('adoptSafety', safety, actor, seen, own, flag(isSecond), before));
      return wordOf(['proposed', 'adopted', 'changed'], word);
    },
    ...seasonActs(run, armings),
    dirPlaces: async (ids) => await redis.hmget(keys.dirPlaces, ...ids),
    async halt(actor, reason, act = '') {
      await run('halt', 'halt', actor, reason, act);
    },
    async release(actor, seals) {
      const [word] = await bySecondPerson(actor, async (seen) =>
        textsOf(await run('halt', 'release', actor, seen, seals.own, seals.seen)),
      );
      return RELEASE_RESULTS.find((known) => known === word) ?? 'not-halted';
    },
    async voidRelease() {
      await redis.hdel(keys.head, 'releaseBy', 'releaseSeal');
    },
    async disprove(capability, evidence) {
      return (await run('disprove', capability, evidence)) === 1;
    },
    async hold(ms) {
      await run('hold', Math.max(1, Math.ceil(ms)));
    },
    ...timedActs(redis, run, keys),
  };
}

type Run = (name: keyof ReturnType<typeof headScripts>, ...args: (string | number)[]) => Promise<unknown>;

function seasonActs(
  run: Run,
  { highestCounter, sawServer }: KnownArmings,
): Pick<LedgerState, 'season' | 'enterDir' | 'notePeers' | 'compare'> {
  return {
    async season(dataDirId = '') {
      const season = seasonOf(await run('season', highestCounter(), dataDirId));
      sawServer(season.server);
      return season;
    },
    async enterDir(dataDirId, hasLogs = false) {
      return integerOf(await run('enter', dataDirId, hasLogs ? '1' : '')) === 1;
    },
    async notePeers(dataDirId, peers) {
      await run('notePeers', dataDirId, JSON.stringify(peers));
    },
    async compare({ dataDirId, server, season = '', last, json, peers }) {
      const reply = await run(
        'compare',
        dataDirId,
        server,
        last ? '1' : '0',
        json,
        JSON.stringify(peers),
        highestCounter(),
        season,
      );
      const [result, restored, ...strangers] = listOf(reply);
      return { result: textOf(result), restored: integerOf(restored), strangers: textsOf(strangers) };
    },
  };
}

/** Turns, paces, and the clock that they go by. */
function timedActs(
  redis: Redis,
  run: Run,
  keys: LedgerKeys,
): Pick<
  LedgerState,
  'takePace' | 'swapRate' | 'takeTurn' | 'endTurn' | 'now' | 'lookAtClock' | 'noteDurability' | 'weakTimes'
> {
  return {
    async noteDurability(settings) {
      await run('durability', settings.join(' '));
    },
    async weakTimes() {
      const [ended, since] = await Promise.all([redis.lrange(keys.weak, 0, -1), redis.hget(keys.head, 'weakSince')]);
      return [...ended, ...(since === null ? [] : [` ${since}`])].map(weakTimeOf);
    },
    async takePace(what, { count, perSecond }) {
      const microseconds = await run('pace', what, count, Math.ceil(1_000_000 / perSecond), MADE_UP_MICROSECONDS_MAX);
      return integerOf(microseconds) / 1000;
    },
    async swapRate(seen, next) {
      const [isOurs, text, now] = listOf(await run('rate', seen, next));
      return { isOurs: integerOf(isOurs) === 1, text: textOf(text), now: integerOf(now) };
    },
    async takeTurn(what, periodMs) {
      return integerOf(await run('turn', what, periodMs)) === 1;
    },
    async endTurn(what) {
      await redis.del(keys.turn(what));
    },
    now: () => redisTime(redis),
    async lookAtClock() {
      const steppedMs = integerOf(await run('clock', ...PACES));
      if (steppedMs === 0) return 0;
      while (integerOf(await run('forward', BROUGHT_PER_CALL)) > 0);
      await openLookSooner(redis, keys)(() => true);
      await run('forgetStep');
      return steppedMs;
    },
  };
}

function flag(value: boolean): string {
  return value ? '1' : '0';
}

function seasonOf(reply: unknown): Season {
  const [open, server, missing, all, strangers, name] = listOf(reply);
  return {
    open: integerOf(open) === 1,
    server: textOf(server),
    missing: textsOf(missing),
    dataDirIds: textsOf(all),
    strangers: textsOf(strangers),
    name: textOf(name),
  };
}

function headScripts() {
  return {
    open: script(OPEN_HEAD),
    season: script(READ_SEASON),
    enter: script(ENTER_DIR),
    notePeers: script(NOTE_PEERS),
    compare: script(COMPARE_LINES),
    adoptSafety: script(ADOPT_SAFETY),
    swapSafety: script(SWAP_SAFETY),
    halt: script(HALT),
    disprove: script(DISPROVE),
    hold: script(HOLD),
    pace: script(TAKE_PACE),
    rate: script(SWAP_RATE),
    turn: script(TAKE_TURN),
    durability: script(NOTE_DURABILITY),
    clock: script(LOOK_AT_CLOCK),
    forward: script(BRING_FORWARD),
    forgetStep: script(FORGET_STEP),
  };
}
