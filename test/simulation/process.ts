import type { Random } from '../../src/clock.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Payouts } from '../../src/ledger/payouts/payouts.ts';
import { openSeals } from '../../src/ledger/seals.ts';
import { silentLog } from '../../src/log.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import type { PayDeps, PayRules } from '../../src/pay/deps.ts';
import { openCanary } from '../../src/pay/look-up/canary.ts';
import { openPace, openQuoteLead } from '../../src/pay/pace.ts';
import { openSharedBrake } from '../../src/pay/shared-brake.ts';
import { disproveCapability, haltAll } from '../../src/runs/decide/control.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import { openClient } from './client.ts';
import { type FakeDisk, openFakeIntents } from './disk.ts';
import type { Mutation } from './mutation.ts';
import { latencyMs, type Plan } from './plan.ts';
import { openProcessLedger } from './process-ledger.ts';
import { ensureSeason, keepSeason } from './season.ts';
import type { Setting } from './setting.ts';
import { openStopping, type Stopping } from './stopping.ts';
import { type Actor, clockOf } from './world.ts';

/** A machine with a data directory; its processes come and go. */
export interface Host {
  /** Of the processes that start there from now on. */
  dataDirId: string;
  readonly disk: FakeDisk;
  isLost: boolean;
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
  readonly stopping: Stopping;
}

export interface ProcessParts {
  readonly name: string;
  readonly host: Host;
  readonly credentials: string;
  /** It was told that it may send. */
  readonly onArmed: () => void;
}

export function openProcess(setting: Setting, as: ProcessParts): Process {
  const { world, plan, service, mutation, isCalm } = setting;
  const { dice } = world;
  const actor: Actor = { name: as.name, dead: false, stoppedUntil: 0, stoppedMs: 0, wallStepMs: 0 };
  // Most hosts keep the time; people wait for as long as clocks differ.
  const skewMsMax = dice.chance(0.8) ? 500 : 60_000;
  const skew = { wallMs: dice.between(-skewMsMax, skewMsMax), monotonicMs: dice.between(0, 1_000_000) };
  const plainClock = clockOf(world, actor, skew);
  const clock = mutation.clock?.(plainClock, actor) ?? plainClock;
  const { dataDirId, disk } = as.host;
  const { ledger, head } = openProcessLedger(setting, { actor, dataDirId, disk, clock, onArmed: as.onArmed });
  const log = silentLog;
  const brake = openSharedBrake(ledger.state, { clock, log });
  const random: Random = {
    fraction: () => dice.fraction(),
    bytes: (count) => Buffer.from(dice.hex(2 * count), 'hex'),
    uuid: () => dice.uuid(),
  };
  const client = openClient({
    world,
    plan,
    service,
    isCalm,
    actor,
    clock,
    brake,
    random,
    credentials: as.credentials,
    onLeaving: (body) => setting.checks.leaves(body, { owner: as.name, disk, service }),
  });
  const asked = mutation.service?.(client) ?? client;
  const intents = openFakeIntents(setting, { clock, disk });
  const payouts: Payouts = {
    ...ledger.payouts,
    async read(place) {
      const reading = await ledger.payouts.read(place);
      brake.learn(reading.waitMs);
      return reading;
    },
  };
  const pace = openPace(ledger.state, clock, { what: 'pay', perSecond: undefined });
  const place = {
    head,
    dataDirId,
    disk,
    clock,
    diskMs: () => latencyMs(dice, plan, isCalm()),
  };
  let comparedFor = '';
  const openSeason = async (arms: boolean): Promise<readonly string[]> => {
    let isFirst = true;
    return await ensureSeason({
      arms,
      lines: () => mutation.compared?.(disk.lines) ?? disk.lines,
      waitMs: mutation.seasonWaitMs ?? 2 * plan.armDeadlineMs,
      /** As `compareDecisions` in src/runs/safety/season.ts. */
      async redo({ server, open }) {
        const isDone = isFirst ? arms && open && server === comparedFor : server === comparedFor;
        if (isDone || (!isFirst && mutation.comparesDecisionsOnce === true)) return;
        isFirst = false;
        await redoMissedDecisions({ ledger, clock, log }, server);
        comparedFor = server;
      },
      ...place,
    });
  };
  const join = onceAtATime(() => openSeason(true));
  const deps: PayDeps = {
    payouts: mutation.payouts?.(payouts) ?? payouts,
    runs: ledger.runs,
    references: ledger.references,
    // Nobody here writes to Redis but payrun.
    seals: { ...openSeals(), judgePayout: () => 'true', judgeQuote: () => 'true' },
    // The simulated arming looks at the list by itself.
    blockList: { refresh: async () => 'true', kept: () => '', has: () => false },
    state: {
      ...ledger.state,
      halt: async (by, reason) => void (await haltAll({ ledger }, { actor: by, reason })),
      disprove: (capability, evidence) => disproveCapability({ ledger, log }, capability, evidence),
    },
    intents: mutation.intents?.(intents) ?? intents,
    service: asked,
    canary:
      mutation.canary ??
      openCanary({
        service: asked,
        known: () => ledger.payouts.knownPayments(as.credentials),
      }),
    pace,
    trackPace: pace,
    quoteLead: openQuoteLead(),
    ensureSeason: join,
    requireSafety: async () => {},
    clock,
    random,
    log,
    at: noCrash,
    owner: as.name,
    rules: rulesOf(plan, mutation),
  };
  for (const { line } of disk.lines) ledger.payouts.sawCounter(line.armingCounter);
  return {
    actor,
    host: as.host,
    deps,
    ledger,
    keepSeason: onceAtATime(async () => {
      await keepSeason(place, join);
      await ledger.audit.copyOthers();
    }),
    seasonOfSubmitter: onceAtATime(() => openSeason(false)),
    stopping: openStopping(),
  };
}

function rulesOf(plan: Plan, mutation: Mutation): PayRules {
  const { armDeadlineMs, requestTimeoutMs, quoteGraceMs, notFoundGapMs, trackEveryMs, breaker, told } = plan;
  const rules: PayRules = {
    armDeadlineMs,
    requestTimeoutMs,
    quoteGraceMs,
    notFoundGapMs,
    trackEveryMs,
    breaker,
    payoutCategory: 'BANK',
    payinCategory: 'PRE_FUNDING',
    capabilities: told,
    notFoundCodes: new Set(['USR_002']),
  };
  return mutation.rules === undefined ? rules : { ...rules, ...mutation.rules };
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
