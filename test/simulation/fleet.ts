import { IntentLogFault } from '../../src/ledger/intents/intent-log.ts';
import { Refusal } from '../../src/refusal.ts';
import { TokenRefused, TokenUnavailable } from '../../src/service/token.ts';
import { copyDisk, emptyDisk, type FakeDisk } from './disk.ts';
import { latencyMs } from './plan.ts';
import { type Host, openProcess, type Process } from './process.ts';
import { ConnectionLost } from './redis.ts';
import type { Setting } from './setting.ts';
import type { Actor } from './world.ts';

const END_MS = 5000;
const START_AGAIN_MS_MAX = 5000;
const HOSTS_MAX = 3;

/** The hosts with the processes that run on them. */
export interface Fleet {
  readonly hosts: readonly Host[];
  /** Every process that there ever was. */
  readonly processes: readonly Process[];
  /** Those that take on work. */
  alive(): Process[];
  start(host: Host): Process;
  /** Lets a process do something soon. What it throws is left to the sweeper, unless it is a defect. */
  spawn(process: Process, label: string, task: () => Promise<unknown>): void;
  kill(actor: Actor, why: string): void;
  losePower(host: Host): void;
  terminate(process: Process | undefined): void;
  /** A copy of a host's data directory comes into use on a host of its own. */
  copyHost(host: Host): void;
  /** The host is gone with its data directory; where nobody else is there, a new one takes its place. */
  lose(host: Host): void;
  /** It was given up, and comes back all the same. */
  comeBack(host: Host): void;
  /** New credentials for everybody: what was sent before may be hidden from them. */
  rotate(): void;
  /** Each process is replaced by a new one. */
  renew(): void;
}

export function openFleet(setting: Setting, onArmed: () => void): Fleet {
  const { world, plan, redis } = setting;
  const { dice } = world;
  const hosts: Host[] = [];
  let ids = 0;
  const newId = (): string => `dir-${++ids}`;
  const addHost = (disk: FakeDisk, dataDirId = newId()): Host => {
    const host = { dataDirId, disk, isLost: false };
    hosts.push(host);
    return host;
  };
  while (hosts.length < plan.hosts) addHost(emptyDisk());
  const processes: Process[] = [];
  let credentials: 'A' | 'B' = 'A';

  /** As `claimDataDir` in src/ledger/intents/dir-lease.ts. */
  function start(host: Host, as = credentials): Process {
    if (redis.store().writtenOff.has(host.dataDirId)) host.dataDirId = newId();
    const started = openProcess(setting, { name: `w${processes.length + 1}`, host, credentials: as, onArmed });
    processes.push(started);
    world.say(() => `${started.actor.name} starts on ${host.dataDirId} with credentials ${as}`);
    spawn(started, 'opens the season', started.deps.ensureSeason);
    return started;
  }

  function spawn({ actor, stopping }: Process, label: string, task: () => Promise<unknown>): void {
    if (actor.dead || stopping.signal.aborted) return;
    world.after(latencyMs(dice, plan, setting.isCalm()), {
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
    if (!setting.isCalm()) world.count('kills');
    world.say(() => `${actor.name} is killed: ${why}`);
    if (host === undefined || setting.isCalm()) return;
    world.after(dice.between(0, START_AGAIN_MS_MAX), {
      actor: null,
      label: 'a process is started again',
      run: () => void (setting.isCalm() || host.isLost || start(host)),
    });
  }

  return {
    hosts,
    processes,
    alive,
    start: (host) => start(host),
    spawn,
    kill,
    losePower(host) {
      world.count('power losses');
      world.say(() => `${host.dataDirId} loses its power`);
      for (const { actor, host: place } of processes) if (place === host) kill(actor, 'no power');
      const kept = host.disk.lines.filter(({ isSynced }) => isSynced || dice.chance(0.5));
      host.disk.lines.splice(0, host.disk.lines.length, ...kept);
      const answers = host.disk.answers.filter(({ isSynced }) => isSynced || dice.chance(0.5));
      host.disk.answers.splice(0, host.disk.answers.length, ...answers);
    },
    terminate(process) {
      if (process === undefined || process.stopping.signal.aborted) return;
      world.count('terminations');
      world.say(() => `${process.actor.name} is told to end`);
      process.stopping.abort();
      world.after(END_MS, {
        actor: null,
        label: 'a process has ended',
        run: () => kill(process.actor, 'it was told to end'),
      });
    },
    copyHost({ dataDirId, disk }) {
      if (hosts.length >= HOSTS_MAX) return;
      const isKnown = setting.mutation.copyKeepsId === true;
      const copy = addHost(copyDisk(disk), isKnown ? dataDirId : undefined);
      world.count('directories copied');
      world.say(() => `${dataDirId} is copied as ${copy.dataDirId}`);
      start(copy);
    },
    lose(host) {
      world.count('hosts lost');
      world.say(() => `${host.dataDirId} is lost`);
      host.isLost = true;
      for (const process of processes) if (process.host === host) kill(process.actor, 'its host is lost');
      setting.checks.lost(host.dataDirId);
      if (hosts.every(({ isLost }) => isLost) || dice.chance(0.3)) start(addHost(emptyDisk()));
    },
    comeBack(host) {
      world.count('hosts back');
      world.say(() => `${host.dataDirId} comes back`);
      host.isLost = false;
      start(host);
    },
    rotate() {
      credentials = credentials === 'A' ? 'B' : 'A';
      for (const { actor } of alive()) kill(actor, `the credentials are ${credentials} now`);
    },
    renew() {
      for (const { actor } of alive()) kill(actor, 'it is replaced');
      for (const { actor } of processes) actor.dead = true;
      const there = hosts.filter(({ isLost }) => !isLost);
      for (const host of there) start(host);
      const [host] = there;
      // What was sent under the other credentials can be proven dead under them only.
      if (plan.faults.has('credentials') && host !== undefined) start(host, credentials === 'A' ? 'B' : 'A');
    },
  };
}
