import type { Clock, Random } from '../../src/clock.ts';
import type { Head } from '../../src/ledger/head.ts';
import { type IntentLog, IntentLogFault } from '../../src/ledger/intent-log.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Arming, PayoutMove, Payouts } from '../../src/ledger/payouts.ts';
import { silentLog } from '../../src/log.ts';
import { goOn } from '../../src/pay/crash-point.ts';
import type { PayDeps, PayRules } from '../../src/pay/deps.ts';
import { openPace, openQuoteLead } from '../../src/pay/pace.ts';
import { openSharedBrake } from '../../src/pay/shared-brake.ts';
import type { Run } from '../../src/payout.ts';
import type { Service } from '../../src/service/client.ts';
import type { Checks } from './checks.ts';
import { openClient } from './client.ts';
import { compareLines, disprove, enterDir, haltAll, holdAll, notePeers, readSeason, releaseHalt } from './head.ts';
import { armPayout, deferPayout, holderOfQuote, movePayout, payoutOf, readPayout } from './moves.ts';
import { latencyMs, type Plan } from './plan.ts';
import type { FakeDisk, FakeRedis } from './redis.ts';
import { linesIn, moveRun, type RunMove, runOf } from './runs.ts';
import { ensureSeason, keepSeason } from './season.ts';
import type { FakeService } from './service.ts';
import type { Store } from './store.ts';
import { type Actor, clockOf, type World } from './world.ts';

/** A machine with a data directory; its processes come and go. */
export interface Host {
  readonly dataDirId: string;
  readonly disk: FakeDisk;
}

/** Where the simulation composes the program, one guard may be replaced. The program itself has no such switch. */
export interface Mutation {
  readonly service?: (service: Service) => Service;
  readonly payouts?: (payouts: Payouts) => Payouts;
  readonly intents?: (intents: IntentLog) => IntentLog;
  readonly rules?: Partial<PayRules>;
  readonly clock?: (clock: Clock, actor: Actor) => Clock;
  /** What is left of an intent log when it is compared. */
  readonly compared?: (lines: FakeDisk['lines']) => FakeDisk['lines'];
  readonly seasonWaitMs?: number;
  /** What is left of the rules where people decide. */
  readonly rulesOfPeople?: Partial<PayRules>;
  /** What a process remembers of the highest arming counter that it saw. */
  readonly remembered?: (counter: number) => number;
  /** What a script that lacks a check would do to the ledger before it arms. */
  readonly beforeArm?: (store: Store, arming: Arming, dataDirId: string) => Arming;
  readonly beforeMove?: (store: Store, move: PayoutMove) => PayoutMove;
}

export interface ProcessParts {
  readonly world: World;
  readonly plan: Plan;
  readonly redis: FakeRedis;
  readonly service: FakeService;
  readonly checks: Checks;
  readonly mutation: Mutation;
  readonly isCalm: () => boolean;
  /** Keeps a copy of Redis to go back to. */
  readonly keepCopy: () => void;
  /** A process was told that it may send. */
  readonly onArmed: () => void;
}

/** A running process of the program. */
export interface Process {
  readonly actor: Actor;
  readonly host: Host;
  readonly deps: PayDeps;
  readonly ledger: Ledger;
  /** Who only hands files in keeps no season closed. */
  readonly seasonOfSubmitter: () => Promise<readonly string[]>;
  /** Does what other data directories wait for; a worker does it at each sweep. */
  readonly keepSeason: () => Promise<void>;
  readonly stopping: AbortController;
}

export function openProcess(parts: ProcessParts, as: { name: string; host: Host; credentials: string }): Process {
  const { world, plan, service, mutation } = parts;
  const { dice } = world;
  const actor: Actor = { name: as.name, dead: false, stoppedUntil: 0, stoppedMs: 0 };
  const skew = { wallMs: dice.between(-60_000, 60_000), monotonicMs: dice.between(0, 1_000_000) };
  const plainClock = clockOf(world, actor, skew);
  const clock = mutation.clock?.(plainClock, actor) ?? plainClock;
  const ledger = openSimulatedLedger(parts, { actor, dataDirId: as.host.dataDirId });
  const log = silentLog;
  const brake = openSharedBrake(ledger.head, { clock, log });
  const random: Random = {
    fraction: () => dice.fraction(),
    bytes: (count) => Buffer.from(dice.hex(2 * count), 'hex'),
    uuid: () => dice.uuid(),
  };
  const client = openClient({
    ...parts,
    actor,
    clock,
    brake,
    random,
    credentials: as.credentials,
    onLeaving: (body) => parts.checks.leaves(body, { owner: as.name, disk: as.host.disk, service }),
  });
  const intents = openFakeIntents(parts, { actor, clock, disk: as.host.disk });
  const payouts: Payouts = {
    ...ledger.payouts,
    async read(place) {
      const reading = await ledger.payouts.read(place);
      brake.learn(reading.waitMs);
      return reading;
    },
  };
  const pace = openPace(ledger.head, clock, { what: 'pay', perSecond: undefined });
  const { dataDirId, disk } = as.host;
  const place = { head: ledger.head, dataDirId, disk, clock, diskMs: () => latencyMs(dice, plan, parts.isCalm()) };
  const season = (arms: boolean): Promise<readonly string[]> =>
    ensureSeason({
      ...place,
      arms,
      lines: () => mutation.compared?.(disk.lines) ?? disk.lines,
      waitMs: mutation.seasonWaitMs ?? 2 * plan.armDeadlineMs,
    });
  const join = onceAtATime(() => season(true));
  const deps: PayDeps = {
    payouts: mutation.payouts?.(payouts) ?? payouts,
    runs: ledger.runs,
    head: ledger.head,
    intents: mutation.intents?.(intents) ?? intents,
    service: mutation.service?.(client) ?? client,
    pace,
    trackPace: pace,
    quoteLead: openQuoteLead(),
    ensureSeason: join,
    clock,
    random,
    log,
    at: goOn,
    owner: as.name,
    rules: {
      ...plan,
      payoutCategory: 'BANK',
      payinCategory: 'PRE_FUNDING',
      capabilities: plan.told,
      ...mutation.rules,
    },
  };
  for (const { line } of disk.lines) ledger.payouts.sawCounter(line.armingCounter);
  return {
    actor,
    host: as.host,
    deps,
    ledger,
    keepSeason: onceAtATime(() => keepSeason(place, join)),
    seasonOfSubmitter: onceAtATime(() => season(false)),
    stopping: new AbortController(),
  };
}

function onceAtATime<T>(task: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= task().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/** The intent log of a process on its host's disk. A torn line is one that is not there. */
function openFakeIntents(
  { world, plan, isCalm }: ProcessParts,
  { clock, disk }: { actor: Actor; clock: Clock; disk: FakeDisk },
): IntentLog {
  const { dice } = world;
  const fault = (share: number): boolean => !isCalm() && plan.faults.has('disk') && dice.chance(share);
  const lag = (): number => Math.max(1, latencyMs(dice, plan, isCalm()));
  let isPoisoned = false;
  return {
    async append(line) {
      await clock.sleep(lag());
      if (isPoisoned) throw new IntentLogFault('not synced before', { poisoned: true, cause: 'EIO' });
      if (fault(0.06)) throw new IntentLogFault('not written', { poisoned: false, cause: 'ENOSPC' });
      const written = { line, isSynced: false };
      disk.lines.push(written);
      await clock.sleep(lag());
      if (fault(0.04)) {
        isPoisoned = true;
        throw new IntentLogFault('not synced', { poisoned: true, cause: 'EIO' });
      }
      written.isSynced = true;
    },
    close: async () => {},
  };
}

/** The ledger as a process sees it: each call goes over the fake network to the fake Redis. */
function openSimulatedLedger(
  { world, plan, redis, checks, mutation, isCalm, keepCopy, onArmed }: ProcessParts,
  { actor, dataDirId }: { actor: Actor; dataDirId: string },
): Ledger {
  const ask = <T>(label: string, run: (store: Store, now: number) => T): Promise<T> =>
    redis.call({ actor, label, kind: 'commands', run });
  const change = <T>(label: string, run: (store: Store, now: number) => T): Promise<T> =>
    ask(label, (store, now) => {
      maybeKeepCopy();
      const value = run(store, now);
      checks.conserved(store);
      return value;
    });
  let highestCounter = 0;
  const sawCounter = (counter: number): void => {
    highestCounter = Math.max(highestCounter, counter);
  };
  function maybeKeepCopy(): void {
    if (!isCalm() && plan.faults.has('redis-rollback') && world.dice.chance(0.15)) keepCopy();
  }

  const payouts: Payouts = {
    async read(place) {
      const { reading, counter } = await ask('read', (store, now) => {
        return { reading: readPayout(store, place, now), counter: store.armings };
      });
      sawCounter(counter);
      return reading;
    },
    sawCounter,
    highestCounter: () => mutation.remembered?.(highestCounter) ?? highestCounter,
    async arm(arming) {
      const askedAt = world.now();
      const saw = payouts.highestCounter();
      const run = (store: Store, now: number) => {
        maybeKeepCopy();
        const asked = mutation.beforeArm?.(store, arming, dataDirId) ?? arming;
        const answer = armPayout(store, asked, { dataDirId, sawCounter: saw, now });
        checks.armed(arming, { answer, store, askedAt });
        checks.conserved(store);
        world.say(() => `  arm ${arming.line} ${arming.quoteId.slice(0, 8)}: ${JSON.stringify(answer)}`);
        return answer;
      };
      const answer = await redis.call({ actor, label: 'arm', kind: 'arming', run });
      checks.answered(arming, answer);
      if (answer.armed) onArmed();
      if (answer.armed) sawCounter(answer.counter);
      return answer;
    },
    move: (move) =>
      change('move', (store, now) => {
        const answer = movePayout(store, mutation.beforeMove?.(store, move) ?? move, now);
        if (answer.result === 'moved' && move.fields?.['pr'] !== undefined) checks.proposed(store, move);
        world.say(
          () =>
            `  move ${move.line} to ${move.to ?? '(note)'} by ${move.actor}: ${answer.result} ${answer.version} ${answer.state} ${move.reason}`,
        );
        return answer;
      }),
    holderOf: (id) => ask('holder', (store) => holderOfQuote(store, id)),
    defer: (place, { ms, quoteFailed }) =>
      change('defer', (store, now) => deferPayout(store, place, { ms, quoteFailed, now })),
  };
  const head: Partial<Head> = {
    season: () => {
      const saw = payouts.highestCounter();
      return ask('season', (store) => readSeason(store, saw));
    },
    enterDir: (id) => ask('enter', (store) => enterDir(store, id)),
    compare: ({ dataDirId: id, server, last, json, peers }) =>
      change('compare', (store, now) => {
        const compared = compareLines(store, { dataDirId: id, server, last, lines: JSON.parse(json), peers }, now);
        world.say(() => `  compare ${id}: ${JSON.stringify(compared)}`);
        return compared;
      }),
    notePeers: (id, peers) => ask('note peers', (store) => notePeers(store, id, peers)),
    halt: (_actor, reason) =>
      ask('halt', (store) => {
        world.say(() => `  halt: ${reason}`);
        haltAll(store, reason);
      }),
    release: (by) => ask('release', (store) => releaseHalt(store, by)),
    disprove: (capability) => ask('disprove', (store) => disprove(store, capability)),
    hold: (ms) => ask('hold', (store, now) => holdAll(store, Math.max(1, Math.ceil(ms)), now)),
  };
  const runs = {
    move: (runId: string, move: RunMove) =>
      change(`run to ${move.to}`, (store, now) => moveRun(store, runId, { move, now })),
    read: (runId: string): Promise<Run | undefined> =>
      ask('run', (store) => {
        const run = store.runs.get(runId);
        return run === undefined ? undefined : runOf(run);
      }),
    async *linesIn(runId: string, { state }: { state: 'ready' }) {
      const lines = await ask('lines', (store) => linesIn(store, runId, state));
      if (lines.length > 0) yield lines;
    },
    async *rows(runId: string) {
      yield await ask('rows', (store) =>
        [...store.entries.values()].filter((entry) => entry.runId === runId).flatMap((entry) => payoutOf(entry) ?? []),
      );
    },
    note: (runId: string, fields: Record<string, string>) =>
      ask('note', (store) => void Object.assign(store.runs.get(runId)?.fields ?? {}, fields)),
    deadQuotes: (runId: string) => ask('dead quotes', (store) => [...(store.runs.get(runId)?.dead ?? [])]),
  };
  const audit = { append: () => ask('audit', () => ({ number: 1, hash: '' })) };
  return { payouts, head, runs, audit, slices: {} } as unknown as Ledger;
}
