import type { IntentLine } from '../../src/ledger/intents/intent-line.ts';
import type { Fleet } from './fleet.ts';
import type { Jobs } from './jobs.ts';
import type { People } from './people.ts';
import { nearDeadlineMs } from './plan.ts';
import type { Host } from './process.ts';
import type { Setting } from './setting.ts';
import type { Store } from './store.ts';
import type { Actor } from './world.ts';

const RESTARTS_MAX = 3;
const STEPS_MAX = 2;
const STEPS_APART_MS = 3000;
const HOUR_MS = 3_600_000;
/** What happens by itself now and then, whatever the processes do. */
const BY_ITSELF = [
  'token',
  'redis-rollback',
  'credentials',
  'jobs',
  'people',
  'halt',
  'copied-directory',
  'lies',
  'clock-steps',
  'lost-host',
] as const;
/** What happens to a process at one of its awaits. */
const AT_AN_AWAIT = ['kill', 'stop', 'redis-restart', 'redis-rollback', 'power', 'terminate'] as const;

/** What goes wrong outside of the service and the network, which do so by themselves. */
export interface Chaos {
  begin(): void;
  /** Whether what happened to a process takes the place of its event. */
  readonly meddle: (actor: Actor) => boolean;
  /** Tokens end, and Redis goes back in time, now and then just when somebody may send. */
  onArmed(): void;
}

export function openChaos(
  setting: Setting,
  { fleet, jobs, people }: { fleet: Fleet; jobs: Jobs; people: People },
): Chaos {
  const { world, plan, redis, service, hasFault } = setting;
  const { dice } = world;
  // Only who saw the armings that were forgotten can tell: where others armed, it takes them to come by first.
  const mayBeUnseen =
    plan.hosts === 1 &&
    plan.processesPerHost === 1 &&
    !plan.faults.has('copied-directory') &&
    !plan.faults.has('lost-host') &&
    // What Redis lost beside armings is noticed by the next arming at the earliest (docs/guarantees.md, "Not promised").
    !plan.faults.has('forgets');
  let restarts = 0;
  let steps = 0;
  let steppedAt = 0;
  let isAnyLost = false;

  function restartRedis(): void {
    restarts++;
    const goesBack = hasFault('redis-rollback') && dice.chance(0.7);
    redis.restart(goesBack ? (mayBeUnseen && dice.chance(0.8) ? 'unseen' : 'an earlier copy') : 'as it was');
    if (dice.chance(0.6)) jobs.again();
  }

  function stop(actor: Actor): void {
    actor.stoppedUntil = world.now() + nearDeadlineMs(dice, plan);
    actor.stoppedMs += actor.stoppedUntil - world.now();
    world.count('stops');
    world.say(() => `${actor.name} is stopped until ${actor.stoppedUntil}`);
  }

  function lie(): void {
    world.count('lies');
    service.lie();
  }

  /**
   * A host that is lost together with all that is left of a file, or of it in Redis, is more than can be promised
   * (docs/guarantees.md, "Not promised"): something else knows each file of which it armed anything, and that it may have armed.
   */
  function loseHost(host: Host): void {
    const others = fleet.hosts.filter((other) => other !== host && !other.isLost);
    const isKnown = ({ fileSha256 }: IntentLine): boolean =>
      redis.remembers(({ files }) => files.has(fileSha256)) ||
      others.some(({ disk }) => [...disk.audit.values()].some(({ details }) => details['fileSha256'] === fileSha256));
    const isNoted = others.some(({ disk }) => disk.peers.includes(host.dataDirId));
    const mayArm = ({ dirs }: Store): boolean =>
      isNoted || host.disk.lines.length === 0 ? dirs.size > 0 : dirs.has(host.dataDirId);
    const isKnownToRedis = restarts < RESTARTS_MAX ? redis.remembers(mayArm) : mayArm(redis.store());
    if (!isKnownToRedis || !host.disk.lines.every(({ line }) => isKnown(line))) return;
    isAnyLost = true;
    fleet.lose(host);
  }

  /** Two steps between two sweeps look like none. */
  function mayStep(): boolean {
    return steps < STEPS_MAX && world.now() - steppedAt > STEPS_APART_MS;
  }

  /** By more than an hour, of Redis's host or of another. */
  function stepClock(): void {
    steps++;
    steppedAt = world.now();
    const ms = dice.pick([-1, 1]) * dice.between(HOUR_MS, HOUR_MS + 600_000);
    const workers = fleet.alive();
    if (workers.length === 0 || dice.chance(0.6)) redis.stepClock(ms);
    else {
      world.count('clock steps');
      dice.pick(workers).actor.wallStepMs += ms;
    }
  }

  function happen(): void {
    if (setting.isCalm()) return;
    world.after(dice.between(50, 1500), { actor: null, label: 'chaos', run: happen });
    if (hasFault('token') && dice.chance(0.2)) service.revokeTokens();
    if (hasFault('redis-rollback') && dice.chance(0.3)) redis.copy();
    if (hasFault('lies') && dice.chance(0.1)) lie();
    if (hasFault('clock-steps') && mayStep() && dice.chance(0.1)) stepClock();
    if (hasFault('lost-host') && !isAnyLost && dice.chance(0.15)) loseHost(dice.pick(fleet.hosts));
    const workers = fleet.alive();
    if (workers.length === 0) return;
    const process = dice.pick(workers);
    if (hasFault('copied-directory') && dice.chance(0.15)) fleet.copyHost(process.host);
    if (hasFault('credentials') && dice.chance(0.1)) fleet.rotate();
    if (hasFault('jobs') && dice.chance(0.5)) jobs.stray(process);
    if (hasFault('people') && dice.chance(0.35)) people.interfere(process);
    if (hasFault('people')) people.decide(process);
    if (hasFault('halt') && dice.chance(0.25)) people.haltOrRelease(process);
  }

  return {
    begin() {
      if (BY_ITSELF.some(hasFault)) world.after(dice.between(0, 1000), { actor: null, label: 'chaos', run: happen });
    },
    meddle(actor) {
      if (setting.isCalm() || !dice.chance(plan.meddleShare)) return false;
      const process = fleet.processes.find((each) => each.actor === actor);
      const kinds = AT_AN_AWAIT.filter(hasFault);
      if (process === undefined || kinds.length === 0) return false;
      switch (dice.pick(kinds)) {
        case 'kill':
          fleet.kill(actor, 'kill -9');
          return true;
        case 'stop':
          stop(actor);
          return true;
        case 'power':
          fleet.losePower(dice.pick(fleet.hosts));
          return actor.dead;
        case 'terminate':
          fleet.terminate(process);
          return false;
        case 'redis-restart':
        case 'redis-rollback':
          if (restarts < RESTARTS_MAX) restartRedis();
          return false;
      }
    },
    onArmed() {
      // A token that ends between the quote and the payment request.
      if (hasFault('token') && dice.chance(0.15)) service.revokeTokens();
      if (!hasFault('redis-rollback') || restarts >= RESTARTS_MAX || !dice.chance(plan.takenBackShare)) return;
      world.after(dice.between(0, 300), {
        actor: null,
        label: 'redis is taken back',
        run: () => setting.isCalm() || restartRedis(),
      });
    },
  };
}
