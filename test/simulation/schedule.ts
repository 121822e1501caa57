import { openChaos } from './chaos.ts';
import { openChecks } from './checks.ts';
import { type Fleet, openFleet } from './fleet.ts';
import type { Happening } from './happenings.ts';
import { openJobs } from './jobs.ts';
import type { Mutation } from './mutation.ts';
import { operate } from './operators.ts';
import { openPeople } from './people.ts';
import { drawPlan, type Plan } from './plan.ts';
import { openRedis } from './redis.ts';
import { openFakeService } from './service.ts';
import type { Setting } from './setting.ts';
import { type Entry, newStore, type Store } from './store.ts';
import { filesOf, type SimulatedFile, submit } from './submission.ts';
import { isSettled, judgeAll, settleMsMaxOf } from './verdict.ts';
import { type Failure, openWorld } from './world.ts';

const SWEEP_MS = 2000;
const FIRST_SWEEP_MS = 50;
const STEPS_MAX = 50_000;
/** A quote that was armed before the clock of Redis stepped back is waited for by that much longer. */
const STEPS_MAX_OF_HOURS = 500_000;

export interface Outcome {
  readonly seed: number;
  readonly plan: Plan;
  readonly failure: Failure | undefined;
  readonly steps: number;
  readonly trace: readonly string[];
  readonly counts: ReadonlyMap<Happening, number>;
}

/** A schedule under way: `step` takes it further until the program may have something to do, and gives its outcome at the end. */
export interface Schedule {
  step(): Outcome | undefined;
}

export interface ScheduleOptions {
  readonly traced?: boolean;
  readonly mutation?: Mutation;
  /** What is not left to chance. */
  readonly plan?: Partial<Plan>;
}

/** A schedule of everything that may happen to a payout file, drawn from a seed. */
export function openSchedule(seed: number, options: ScheduleOptions = {}): Schedule {
  let calmAt: number | undefined;
  const setting = openSetting(seed, options, {
    isCalm: () => calmAt !== undefined,
    onOpen: (entry) => people.onOpen(entry),
  });
  const { world, plan, redis, service, files } = setting;
  const { dice } = world;
  const settleMsMax = settleMsMaxOf(plan);
  const stepsMax = plan.faults.has('clock-steps') ? STEPS_MAX_OF_HOURS : STEPS_MAX;
  const fleet: Fleet = openFleet(setting, () => chaos.onArmed());
  const jobs = openJobs(setting, fleet);
  const people = openPeople(setting, fleet);
  const chaos = openChaos(setting, { fleet, jobs, people });
  world.meddleBy(chaos.meddle);

  function handIn(file: SimulatedFile, candidateId: string): void {
    const process = dice.pick(fleet.alive());
    fleet.spawn(process, `submits the file as ${candidateId}`, () => submit(process, redis, { file, candidateId }));
  }

  /** Later files come while the first one is under way, or when it is over. */
  function handInLater(file: SimulatedFile, index: number): void {
    const run = (): void => {
      if (!setting.isCalm() && fleet.alive().length > 0) handIn(file, `run-${index + 3}`);
    };
    world.after(dice.between(0, plan.chaosMs), { actor: null, label: 'another file comes', run });
  }

  /** A process that knows of armings which Redis has forgotten will say so: then it is not over. */
  function isOver(calmMs: number): boolean {
    if (!isSettled(setting, calmMs)) return false;
    const { armings } = redis.store();
    return fleet.alive().every(({ ledger }) => ledger.payouts.highestCounter() <= armings);
  }

  function sweep(): void {
    // People take their time with what is held.
    if (calmAt === undefined && isOver(0) && dice.chance(setting.hasFault('people') ? 0.2 : 0.5)) calm();
    jobs.sweep();
    people.settle();
    world.after(SWEEP_MS, { actor: null, label: 'sweep', run: sweep });
  }

  /** Faults stop: everything works, every process is a new one, and people let go what was stopped. */
  function calm(): void {
    if (calmAt !== undefined) return;
    world.say(() => 'all faults stop');
    calmAt = world.now();
    redis.calm();
    service.calm();
    // Where nothing was to go wrong, nothing has to be new.
    if (plan.faults.size > 0) fleet.renew();
    operate(setting, fleet);
  }

  function begin(): void {
    for (const [index, host] of fleet.hosts.entries()) {
      for (let count = 0; count < plan.processesPerHost; count++) {
        if (index === 0 || plan.secondHostMs === 0) fleet.start(host);
        else
          world.after(plan.secondHostMs, {
            actor: null,
            label: 'another host comes',
            run: () => void (setting.isCalm() || host.isLost || fleet.start(host)),
          });
      }
    }
    const [file, ...later] = files;
    if (file !== undefined) handIn(file, 'run-1');
    if (file !== undefined && plan.submittedTwice) handIn(file, 'run-2');
    for (const [index, each] of later.entries()) handInLater(each, index);
    world.after(FIRST_SWEEP_MS, { actor: null, label: 'sweep', run: sweep });
    chaos.begin();
    world.after(plan.chaosMs, { actor: null, label: 'the end of faults', run: calm });
  }

  /** Takes one step; false when the schedule is over. */
  function goOn(): boolean {
    if (!world.step() || world.failure() !== undefined) return false;
    const calmMs = calmAt === undefined ? 0 : world.now() - calmAt;
    if (calmAt !== undefined && world.steps() % 4 === 0 && isOver(calmMs) && !people.areBusy()) {
      judgeAll(setting);
      return false;
    }
    if (calmMs > settleMsMax) world.fail('not settled', whatIsOpen(redis.store()));
    else if (world.steps() > stepsMax) world.fail('not settled', `${stepsMax} steps: ${whatIsOpen(redis.store())}`);
    return world.failure() === undefined;
  }

  begin();
  return {
    step() {
      while (goOn()) if (world.isAwake()) return undefined;
      world.end();
      const { trace, counts } = world;
      // What is under way at its end goes on, and counts for nothing.
      return { seed, plan, failure: world.failure(), steps: world.steps(), trace, counts: new Map(counts) };
    },
  };
}

interface Hooks {
  readonly isCalm: () => boolean;
  /** A payout is held or unknown now. */
  readonly onOpen: (entry: Entry) => void;
}

function openSetting(seed: number, options: ScheduleOptions, { isCalm, onOpen }: Hooks): Setting {
  const world = openWorld(seed, { traced: options.traced === true });
  const plan: Plan = Object.assign(drawPlan(world.dice), options.plan);
  const files = filesOf(plan.files, plan.payouts);
  const [file] = files;
  const referenceOf = new Map((file?.rows ?? []).map(({ line, fields }) => [line, fields['ref'] ?? '']));
  const checks = openChecks(world, plan, referenceOf);
  const service = openFakeService(world, plan, {
    made: (payment) => checks.made(payment, service),
    refusedBeneficiary: plan.refusesSecond ? file?.rows[1]?.fields['ben'] : undefined,
  });
  // What the service said of it is on the disk of whoever heard it, for a Redis that goes back.
  const { faults } = plan;
  const mayForget =
    !faults.has('redis-rollback') || !(['power', 'disk', 'lost-host'] as const).some((name) => faults.has(name));
  const watch: Store['watch'] = (entry, from, actor) => {
    checks.moved(entry, from, { actor, service });
    if (
      entry.state === 'accepted' &&
      entry.quote !== null &&
      mayForget &&
      faults.has('forgets') &&
      // One that forgets all that it must know is not believed: what is unknown waits for people then.
      (redis.store().knownPayments.get(entry.get('cf') ?? '') ?? []).length > 1 &&
      !isCalm() &&
      world.dice.chance(0.7)
    )
      service.forget(entry.quote);
    if (entry.state !== 'held' && entry.state !== 'unknown') return;
    world.countOnce('schedules with something to decide');
    onOpen(entry);
  };
  const redis = openRedis(world, plan, newStore('server-1', watch));
  world.say(
    () => `plan ${JSON.stringify({ ...plan, faults: [...plan.faults], has: [...plan.has], told: [...plan.told] })}`,
  );
  return {
    world,
    plan,
    files,
    redis,
    service,
    checks,
    mutation: options.mutation ?? {},
    isCalm,
    hasFault: (name) => !isCalm() && plan.faults.has(name),
  };
}

function whatIsOpen({ entries, season, halt }: Store): string {
  const open = [...entries.values()].map(({ line, state }) => `${line} ${state}`);
  return `${open.join(', ')}; season ${season}, halt ${halt}`;
}
