import { CAPABILITIES } from '../../src/config.ts';
import { IntentLogFault } from '../../src/ledger/intent-log.ts';
import { lookUpPayout } from '../../src/pay/look-up.ts';
import { payPayout } from '../../src/pay/pay-payout.ts';
import { trackPayout } from '../../src/pay/track.ts';
import { QUOTES_PER_PAYOUT_MAX } from '../../src/payout.ts';
import { Refusal } from '../../src/refusal.ts';
import { cancelPayout, cancelRun, findPayout, pauseRun, resumeRun } from '../../src/runs/control.ts';
import { finishRun, lookUpDeadQuotes } from '../../src/runs/finish.ts';
import { TokenRefused, TokenUnavailable } from '../../src/service/token.ts';
import { openChecks } from './checks.ts';
import { drawDecision } from './decisions.ts';
import { drawPlan, latencyMs, nearDeadlineMs, type Plan } from './plan.ts';
import { type Host, type Mutation, openProcess, type Process, type ProcessParts } from './process.ts';
import { ConnectionLost, openRedis } from './redis.ts';
import { linesIn, takeFrom } from './runs.ts';
import { openFakeService } from './service.ts';
import { type Entry, newStore, type RowState, type Store } from './store.ts';
import { fileOf, submit } from './submission.ts';
import { type Actor, type Failure, openWorld, type World } from './world.ts';

const SWEEP_MS = 2000;
const OPEN: readonly RowState[] = ['ready', 'armed', 'quoted', 'unknown'];
const PAID: readonly RowState[] = ['accepted', 'completed', 'failed', 'returned'];
const RESTARTS_MAX = 3;
/** On top of what a quote's life and the proof of its death take: back-off of quotes, waits, look-ups that became rare. */
const SETTLE_MS_MAX = 240_000;
/** Look-ups of a payout become that rare. */
const LOOK_UP_MS_MAX = 30_000;
const STEPS_MAX = 50_000;
/** What happens by itself now and then, whatever the processes do. */
const CHAOS = ['token', 'redis-rollback', 'credentials', 'jobs', 'people', 'halt'] as const;
const CONFIRMED_MS_MAX = 60_000;

export interface Outcome {
  readonly seed: number;
  readonly plan: Plan;
  readonly failure: Failure | undefined;
  readonly steps: number;
  readonly trace: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
}

/** A schedule under way: `step` takes it further by one event, and gives its outcome at the end. */
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
  const world = openWorld(seed, { traced: options.traced === true });
  const plan = { ...drawPlan(world.dice), ...options.plan };
  const file = fileOf(plan.payouts);
  const referenceOf = new Map(file.rows.map(({ line, row }) => [line, row?.reference ?? '']));
  const checks = openChecks(world, plan, referenceOf);
  const service = openFakeService(world, plan, {
    made: (payment) => checks.made(payment, service.book),
    refusedBeneficiary: plan.refusesSecond ? file.rows[1]?.row?.beneficiaryIdentityId : undefined,
  });
  const watch: Store['watch'] = (entry, from, actor) => checks.moved(entry, from, { actor, service });
  const redis = openRedis(world, plan, newStore('server-1', watch));
  let isCalm = false;
  const parts: ProcessParts = {
    world,
    plan,
    redis,
    service,
    checks,
    mutation: options.mutation ?? {},
    keepCopy: () => redis.copy(),
    onArmed,
    isCalm: () => isCalm,
  };
  const hosts: Host[] = Array.from({ length: plan.hosts }, (_, index) => ({
    dataDirId: `dir-${index + 1}`,
    disk: { lines: [], peers: [] },
  }));
  const processes: Process[] = [];
  const { dice } = world;
  let named = 0;
  let restarts = 0;
  let calmAt = 0;
  let credentials: 'A' | 'B' = 'A';
  const hasFault = (name: Parameters<Plan['faults']['has']>[0]): boolean => !isCalm && plan.faults.has(name);
  world.say(
    () => `plan ${JSON.stringify({ ...plan, faults: [...plan.faults], has: [...plan.has], told: [...plan.told] })}`,
  );

  function start(host: Host, as = credentials): Process {
    const started = openProcess(parts, { name: `w${++named}`, host, credentials: as });
    processes.push(started);
    world.say(() => `${started.actor.name} starts on ${host.dataDirId} with credentials ${as}`);
    spawn(started, 'opens the season', () => started.deps.ensureSeason());
    return started;
  }

  function spawn({ actor, stopping }: Process, label: string, task: () => Promise<unknown>): void {
    if (actor.dead || stopping.signal.aborted) return;
    world.after(latencyMs(dice, plan, isCalm), {
      actor,
      label,
      run: () => void task().catch((error: unknown) => onError(actor, error)),
    });
  }

  /** A job that throws is left to the sweeper; a process whose disk is in an unknown state ends (jobs/worker.ts). */
  function onError(actor: Actor, error: unknown): void {
    world.say(() => `${actor.name} gives up a task: ${String(error)}`);
    if (error instanceof IntentLogFault) {
      if (error.poisoned) kill(actor, 'its disk is poisoned');
      return;
    }
    const isExpected =
      error instanceof ConnectionLost ||
      error instanceof TokenUnavailable ||
      error instanceof TokenRefused ||
      error instanceof Refusal;
    if (isExpected) return;
    world.say(() => (error instanceof Error ? (error.stack ?? '') : ''));
    world.fail('defect', String(error));
  }

  function alive(): Process[] {
    return processes.filter(({ actor, stopping }) => !actor.dead && !stopping.signal.aborted);
  }

  function kill(actor: Actor, why: string): void {
    if (actor.dead) return;
    const host = processes.find((process) => process.actor === actor)?.host;
    actor.dead = true;
    if (!isCalm) world.count('kills');
    world.say(() => `${actor.name} is killed: ${why}`);
    if (host === undefined || isCalm) return;
    world.after(dice.between(0, 5000), {
      actor: null,
      label: 'a process is started again',
      run: () => void (isCalm || start(host)),
    });
  }

  function losePower(host: Host): void {
    world.count('power losses');
    world.say(() => `${host.dataDirId} loses its power`);
    for (const { actor, host: place } of alive()) if (place === host) kill(actor, 'no power');
    const kept = host.disk.lines.filter(({ isSynced }) => isSynced || dice.chance(0.5));
    host.disk.lines.splice(0, host.disk.lines.length, ...kept);
  }

  /** Redis goes back in time now and then just when somebody may send. */
  function onArmed(): void {
    if (!hasFault('redis-rollback') || restarts >= RESTARTS_MAX || !dice.chance(0.06)) return;
    world.after(dice.between(0, 300), {
      actor: null,
      label: 'redis is taken back',
      run: () => isCalm || restartRedis(),
    });
  }

  // Only who saw the armings that were forgotten can tell: where others armed, it takes them to come by first.
  const mayBeUnseen = plan.hosts === 1 && plan.processesPerHost === 1;

  function restartRedis(): void {
    restarts++;
    const goesBack = hasFault('redis-rollback') && dice.chance(0.7);
    redis.restart(goesBack ? (mayBeUnseen && dice.chance(0.4) ? 'unseen' : 'an earlier copy') : 'as it was');
    // The queue is in the same Redis: what was under way comes again at once.
    const entries = dice.chance(0.6) ? [...redis.store.entries.values()] : [];
    for (const { runId, line } of entries) {
      const again = (): void => {
        const workers = alive();
        if (workers.length > 0) payTask(dice.pick(workers), { runId, line }, 0);
      };
      world.after(dice.between(0, 1500), { actor: null, label: `job ${line} comes again`, run: again });
    }
  }

  world.meddle = (actor) => {
    if (isCalm || !dice.chance(plan.meddleShare) || !processes.some((process) => process.actor === actor)) return false;
    const kinds = (['kill', 'stop', 'redis-restart', 'redis-rollback', 'power', 'terminate'] as const).filter(hasFault);
    if (kinds.length === 0) return false;
    switch (dice.pick(kinds)) {
      case 'kill':
        kill(actor, 'kill -9');
        return true;
      case 'stop':
        actor.stoppedUntil = world.now() + nearDeadlineMs(dice, plan);
        actor.stoppedMs += actor.stoppedUntil - world.now();
        world.count('stops');
        world.say(() => `${actor.name} is stopped until ${actor.stoppedUntil}`);
        return true;
      case 'power':
        losePower(dice.pick(hosts));
        return actor.dead;
      case 'terminate':
        terminate(processes.find((process) => process.actor === actor));
        return false;
      case 'redis-restart':
      case 'redis-rollback':
        if (restarts < RESTARTS_MAX) restartRedis();
        return false;
    }
  };

  function terminate(process: Process | undefined): void {
    if (process === undefined || process.stopping.signal.aborted) return;
    world.count('terminations');
    world.say(() => `${process.actor.name} is told to end`);
    process.stopping.abort();
    world.after(5000, {
      actor: null,
      label: 'a process has ended',
      run: () => kill(process.actor, 'it was told to end'),
    });
  }

  function payTask(process: Process, place: { runId: string; line: number }, stamp: number | undefined): void {
    spawn(process, `job: pay ${place.line}`, async () => {
      const run = await process.ledger.runs.read(place.runId);
      if (run === undefined || (run.state !== 'paying' && stamp !== undefined)) return;
      const order = { ...place, fileSha256: run.fileSha256 };
      const result = await payPayout(process.deps, order, process.stopping.signal);
      if (result === 'done' && stamp !== undefined) await endSlice(process, place, stamp);
    });
  }

  async function endSlice(
    { actor }: Process,
    { runId, line }: { runId: string; line: number },
    stamp: number,
  ): Promise<void> {
    const run = (store: Store): void => {
      const slices = store.runs.get(runId)?.slices;
      const slice = `${line}-${line}`;
      if (slices?.get(slice) === stamp) slices.delete(slice);
    };
    await redis.call({ actor, label: 'end slice', kind: 'commands', run });
  }

  /** What the feed and the sweeper do (jobs/feed.ts, jobs/sweep.ts). A job may be lost, repeated or late. */
  function sweep(): void {
    const { store } = redis;
    const now = redis.now();
    // People take their time with what is held.
    if (!isCalm && isSettled() && dice.chance(hasFault('people') ? 0.2 : 0.5)) calm();
    const workers = alive();
    // Where nothing is to be kept it would only read.
    for (const worker of workers) {
      const noted = store.peers.get(worker.host.dataDirId);
      if (
        isSeasonClosed() ||
        worker.ledger.payouts.highestCounter() > store.armings ||
        [...store.dirs.keys()].some((dir) => noted?.includes(dir) !== true)
      )
        spawn(worker, 'keeps the season', worker.keepSeason);
    }
    for (const runId of workers.length === 0 ? [] : store.live) sweepRun(store, runId, now);
    if (workers.length > 0) {
      for (const id of [...takeFrom(store.due, now), ...takeFrom(store.tracked, now)]) dispatch(id);
    }
    world.after(SWEEP_MS, { actor: null, label: 'sweep', run: sweep });
  }

  function sweepRun(store: Store, runId: string, now: number): void {
    const run = store.runs.get(runId);
    if (run === undefined) return;
    const hasOpen = OPEN.some((state) => (run.counts[state] ?? 0) > 0);
    if (!hasOpen || run.state === 'cancelled') finish(runId, run.fields['deadQuotesFound'] === undefined);
    if (run.state !== 'paying') return;
    if (run.slices.size === 0)
      for (const line of linesIn(store, runId, 'ready')) run.slices.set(`${line}-${line}`, now);
    for (const slice of takeFrom(run.slices, now)) {
      const stamp = run.slices.get(slice);
      const line = Number.parseInt(slice, 10);
      for (let copy = copies(); copy > 0; copy--) payTask(dice.pick(alive()), { runId, line }, stamp);
    }
  }

  function copies(): number {
    if (!hasFault('jobs')) return 1;
    return dice.pick([0, 1, 1, 1, 2, 3]);
  }

  function finish(runId: string, wantsDead: boolean): void {
    const process = dice.pick(alive());
    spawn(process, `ends ${runId}`, async () => {
      if (!(await finishRun(process.ledger, runId)) || !wantsDead) return;
      const run = await process.ledger.runs.read(runId);
      if (run !== undefined) await lookUpDeadQuotes({ ...process.deps, ledger: process.ledger }, run);
    });
  }

  function dispatch(id: string): void {
    const entry = redis.store.entries.get(id);
    if (entry === undefined) return;
    for (let copy = copies(); copy > 0; copy--) work(dice.pick(alive()), entry);
  }

  function work(process: Process, { runId, line, state }: Entry): void {
    const { deps } = process;
    if (state === 'quoted') payTask(process, { runId, line }, undefined);
    else if (state === 'accepted' || state === 'completed')
      spawn(process, `job: track ${line}`, () => trackPayout(deps, { runId, line }, process.stopping.signal));
    else spawn(process, `job: look up ${line}`, () => lookUpPayout(deps, { runId, line }));
  }

  function handIn(process: Process, candidateId: string): void {
    spawn(process, `submits the file as ${candidateId}`, () => submit(process, redis, { file, candidateId }));
  }

  function chaos(): void {
    if (isCalm) return;
    world.after(dice.between(50, 1500), { actor: null, label: 'chaos', run: chaos });
    if (hasFault('token') && dice.chance(0.2)) service.revokeTokens();
    if (hasFault('redis-rollback') && dice.chance(0.3)) redis.copy();
    const workers = alive();
    if (workers.length === 0) return;
    const process = dice.pick(workers);
    if (hasFault('credentials') && dice.chance(0.1)) rotate();
    if (hasFault('jobs') && dice.chance(0.5)) strayJob(process);
    if (hasFault('people') && dice.chance(0.35)) interfere(process);
    if (hasFault('people')) decide(process);
    if (hasFault('halt') && dice.chance(0.25)) {
      spawn(process, 'a person halts or releases', async () => {
        if (dice.chance(0.3)) await process.ledger.head.halt('anna', 'a person');
        else await process.ledger.head.release(dice.pick(['anna', 'ben']));
      });
    }
  }

  /** New credentials for everybody: what was sent before may be hidden from them. */
  function rotate(): void {
    credentials = credentials === 'A' ? 'B' : 'A';
    for (const { actor } of alive()) kill(actor, `the credentials are ${credentials} now`);
  }

  function strayJob(process: Process): void {
    const entries = [...redis.store.entries.values()];
    if (entries.length === 0) return;
    const entry = dice.pick(entries);
    const state = dice.pick(['quoted', 'accepted', 'unknown'] as const);
    work(process, { ...entry, state });
  }

  /** Two people settle a payout; a held one rather than another. */
  function decide(process: Process): void {
    const entries = [...redis.store.entries.values()].filter(({ row }) => row !== null);
    const held = entries.filter(({ state }) => state === 'held');
    const among = held.length > 0 && dice.chance(0.9) ? held : entries;
    if (among.length === 0 || !dice.chance(held.length > 0 ? 0.6 : 0.15)) return;
    const decision = drawDecision({ world, plan, service, mutation: parts.mutation }, dice.pick(among));
    spawn(process, 'people decide', () => decision(process));
  }

  /** People come to a process of their own in the program; here any will do. */
  function interfere(process: Process): void {
    const [run] = redis.store.runs.values();
    if (run === undefined) return;
    const runId = run.id;
    const { ledger } = process;
    const control = { ledger, wake: async () => {} };
    const person = { actor: 'anna', reason: 'a person' };
    const act = dice.pick(['pause', 'pause', 'resume', 'resume', 'resume', 'cancel payout', 'cancel run'] as const);
    spawn(process, `a person: ${act}`, async () => {
      if (act === 'pause') await pauseRun(control, runId, person);
      else if (act === 'resume') await resumeRun(control, runId, person);
      else if (act === 'cancel run') await cancelRun(control, runId, person);
      else {
        const payout = await findPayout(ledger, runId, `INV-${dice.between(1, plan.payouts)}`);
        if (payout !== undefined) await cancelPayout(control, payout, person);
      }
    });
  }

  /** Faults stop: everything works, every process is a new one, and people let go what was stopped. */
  function calm(): void {
    if (isCalm) return;
    world.say(() => 'all faults stop');
    isCalm = true;
    calmAt = world.now();
    redis.calm();
    service.calm();
    // Where nothing was to go wrong, nothing has to be new.
    if (plan.faults.size === 0) {
      operate();
      return;
    }
    for (const { actor } of alive()) kill(actor, 'it is replaced');
    for (const { actor } of processes) actor.dead = true;
    for (const host of hosts) start(host);
    const [host] = hosts;
    // What was sent under the other credentials can be proven dead under them only.
    if (plan.faults.has('credentials') && host !== undefined) start(host, credentials === 'A' ? 'B' : 'A');
    operate();
  }

  function operate(): void {
    const process = dice.pick(alive());
    const { store } = redis;
    const [run] = store.runs.values();
    if (isSeasonClosed()) for (const each of alive()) spawn(each, 'opens the season', () => each.deps.ensureSeason());
    if (
      run?.state === 'recording' ||
      [...store.entries.values()].filter(({ row }) => row !== null).length < plan.payouts
    )
      handIn(process, 'run-again');
    if (store.halt !== null) {
      spawn(process, 'two people release', async () => {
        await process.ledger.head.release('anna');
        await process.ledger.head.release('ben');
      });
    } else if (run?.state === 'paused') {
      const { ledger } = process;
      spawn(process, 'a person resumes', () =>
        resumeRun({ ledger, wake: async () => {} }, run.id, { actor: 'anna', reason: 'all is well' }),
      );
    }
    world.after(1000, { actor: null, label: 'operators look', run: operate });
  }

  function isSeasonClosed(): boolean {
    const { server, season, dirs } = redis.store;
    return season !== server || [...dirs.values()].some((compared) => compared !== server);
  }

  function isSettled(): boolean {
    const entries = [...redis.store.entries.values()];
    if (entries.length < plan.payouts || service.underWay > 0 || isSeasonClosed()) return false;
    if (entries.some(({ state, row }) => OPEN.includes(state) || row === null)) return false;
    // A look-up that said nothing is made again only a day later; nobody waits for that here.
    return (isCalm && world.now() - calmAt > CONFIRMED_MS_MAX) || !entries.some(isUnconfirmed);
  }

  /** A rejection that a look-up has yet to confirm and that can be confirmed. */
  function isUnconfirmed({ state, quote, expiresAt, more }: Entry): boolean {
    const canBe = expiresAt !== null && plan.told.size === CAPABILITIES.length && more['z2'] === undefined;
    return state === 'rejected' && quote !== null && more['ok'] === undefined && canBe;
  }

  function verdict(): void {
    for (const entry of redis.store.entries.values()) judge(world, { entry, service, file });
    const { halt } = redis.store;
    // A Redis that went back in time may take its own payment for one of a quote that was left behind, until the season opens.
    const isExplained =
      halt === null || halt === 'a person' || world.counts.has('rollbacks') || halt.startsWith('Redis went back');
    if (!isExplained) world.fail('breach', halt);
  }

  begin();
  function begin(): void {
    for (const [index, host] of hosts.entries()) {
      for (let count = 0; count < plan.processesPerHost; count++) {
        if (index === 0 || plan.secondHostMs === 0) start(host);
        else
          world.after(plan.secondHostMs, {
            actor: null,
            label: 'another host comes',
            run: () => void (isCalm || start(host)),
          });
      }
    }
    const [first] = processes;
    if (first !== undefined) handIn(first, 'run-1');
    if (plan.submittedTwice) handIn(dice.pick(processes), 'run-2');
    world.after(50, { actor: null, label: 'sweep', run: sweep });
    if (CHAOS.some(hasFault)) world.after(dice.between(0, 1000), { actor: null, label: 'chaos', run: chaos });
    world.after(plan.chaosMs, { actor: null, label: 'the end of faults', run: calm });
  }

  function settleMsMax(): number {
    // Every quote of a payout may have to be proven dead; a quote whose life is not known is waited for by either clock.
    const skewMs = Math.abs(plan.serviceSkewMs - plan.redisSkewMs);
    const proofMs = (plan.quoteLifeMs ?? 0) + plan.quoteGraceMs + plan.notFoundGapMs + LOOK_UP_MS_MAX;
    return SETTLE_MS_MAX + QUOTES_PER_PAYOUT_MAX * proofMs + skewMs;
  }

  return {
    step() {
      const isGoing = world.step();
      if (world.failure === undefined && isGoing) {
        if (isCalm && world.steps % 4 === 0 && isSettled()) verdict();
        else if (isCalm && world.now() - calmAt > settleMsMax()) {
          const open = [...redis.store.entries.values()].map(({ line, state }) => `${line} ${state}`);
          world.fail('not settled', `${open.join(', ')}; season ${redis.store.season}, halt ${redis.store.halt}`);
        } else if (world.steps > STEPS_MAX) world.fail('not settled', `${STEPS_MAX} steps`);
        else return undefined;
      }
      world.end();
      const { failure, steps, trace, counts } = world;
      return { seed, plan, failure, steps, trace, counts };
    },
  };
}

interface Judged {
  readonly entry: Entry;
  readonly service: ReturnType<typeof openFakeService>;
  readonly file: ReturnType<typeof fileOf>;
}

/** Every request has been delivered or dropped: what the ledger says of a payout is held against the service's book. */
function judge(world: World, { entry, service, file }: Judged): void {
  const reference = file.rows.find(({ line }) => line === entry.line)?.row?.reference ?? '';
  const payments = service.book.filter(({ internalId }) => internalId === reference);
  world.count(`ended ${entry.state}`);
  if (payments.length > 1) world.fail('paid twice', `${reference} has ${payments.length} payments`);
  if (PAID.includes(entry.state) && payments.length === 0) world.fail('accepted', `${reference} was never paid`);
  const isSaidUnpaid =
    entry.state === 'cancelled' ||
    entry.state === 'ready' ||
    (entry.state === 'rejected' && entry.more['ok'] !== undefined);
  if (isSaidUnpaid && payments.length > 0) world.fail('lost', `${reference} is ${entry.state} and is paid`);
  if (entry.state !== 'held') return;
  if (payments.length > 0 && entry.quote === null) world.fail('lost', `${reference} is held as never sent and is paid`);
  if (entry.more['rc'] === undefined) world.fail('reason', `${reference} is held without a reason`);
  if (entry.more['rc'] === 'E_BREACH' && !world.counts.has('rollbacks'))
    world.fail('breach', `${reference}: ${entry.more['rs']}`);
}
