import type { Clock } from '../../src/clock.ts';
import { type Dice, openDice } from './dice.ts';
import type { Happening } from './happenings.ts';
import { openQueue } from './queue.ts';

/*
 * Fake time and the order of everything in it. What a process waits for is an event in the future; the world takes the
 * next one, lets the program run until it waits again, and so on. Nothing real is ever awaited in between.
 */

/** A process of the program, or what is left of it. */
export interface Actor {
  readonly name: string;
  dead: boolean;
  /** Stopped (SIGSTOP) until then: what it waits for happens to it only when it wakes. */
  stoppedUntil: number;
  /** How long it was stopped, or will have been when it wakes. */
  stoppedMs: number;
  /** By how much its host's time of day has been set. */
  wallStepMs: number;
}

/** Why a schedule failed. */
export interface Failure {
  readonly rule: string;
  readonly text: string;
}

/** What is going to happen, unless it is taken back before. */
export interface Pending {
  cancelled: boolean;
}

export interface World {
  readonly dice: Dice;
  /** Milliseconds of true time since the beginning. */
  now(): number;
  /** Lets something happen to an actor, or to nobody, after `ms`. */
  after(ms: number, what: { actor: Actor | null; label: string; run: () => void }): Pending;
  /** Makes the next event happen; false when there is none or the schedule is over. */
  step(): boolean;
  /** Whether the last event may have let the program run on. What happens to nobody does not, but for what `wake` told. */
  isAwake(): boolean;
  wake(): void;
  /** From now on this runs before each event of an actor; true takes its place (the actor was killed or stopped). */
  meddleBy(meddle: (actor: Actor) => boolean): void;
  say(text: () => string): void;
  fail(rule: string, text: string): void;
  failure(): Failure | undefined;
  readonly trace: readonly string[];
  /** How many events have happened. */
  steps(): number;
  count(what: Happening): void;
  /** Counts it once however often it happens. */
  countOnce(what: Happening): void;
  readonly counts: ReadonlyMap<Happening, number>;
  end(): void;
  /** Runs at the end unless it was deleted before: for what would outlive the schedule. */
  readonly atEnd: Set<() => void>;
}

/*
 * In this folder objects have no getters, are not assigned functions later, and what is spread into a new one comes last:
 * Node makes a hidden class for each such object otherwise, which costs more than the rest of a schedule.
 */

export function openWorld(seed: number, { traced }: { traced: boolean }): World {
  const dice = openDice(seed);
  const queue = openQueue();
  const trace: string[] = [];
  const counts = new Map<Happening, number>();
  const atEnd = new Set<() => void>();
  let now = 0;
  let seq = 0;
  let steps = 0;
  let failure: Failure | undefined;
  let ended = false;
  let awake = false;
  let meddle: ((actor: Actor) => boolean) | undefined;

  const say = (text: () => string): void => {
    if (traced) trace.push(`${String(now).padStart(7)} ${text()}`);
  };

  return {
    dice,
    now: () => now,
    after(ms, { actor, label, run }) {
      const event = { at: now + Math.max(0, Math.ceil(ms)), seq: seq++, actor, label, run, cancelled: false };
      queue.push(event);
      return event;
    },
    step() {
      if (ended || failure !== undefined) return false;
      const event = queue.take();
      if (event === undefined) return false;
      now = Math.max(now, event.at);
      steps++;
      const { actor } = event;
      awake = actor !== null;
      if (actor !== null && meddle?.(actor) === true) {
        if (!actor.dead) queue.push(event);
        return true;
      }
      if (traced) say(() => `${actor?.name ?? '-'} ${event.label}`);
      event.run();
      return true;
    },
    isAwake: () => awake,
    wake() {
      awake = true;
    },
    meddleBy(meddler) {
      meddle = meddler;
    },
    say,
    fail(rule, text) {
      say(() => `FAILED ${rule}: ${text}`);
      failure ??= { rule, text };
    },
    failure: () => failure,
    trace,
    steps: () => steps,
    count(what) {
      counts.set(what, (counts.get(what) ?? 0) + 1);
    },
    countOnce(what) {
      counts.set(what, 1);
    },
    counts,
    end() {
      ended = true;
      for (const close of atEnd) close();
    },
    atEnd,
  };
}

/** A process's view of the time: its wall clock is wrong by a constant, its monotonic one begins anywhere. */
export function clockOf(world: World, actor: Actor, skew: { wallMs: number; monotonicMs: number }): Clock {
  const label = 'wakes from a sleep';
  return {
    now: () => EPOCH_MS + world.now() + skew.wallMs + actor.wallStepMs,
    monotonic: () => world.now() + skew.monotonicMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (!(ms > 0) || signal?.aborted === true) {
          resolve();
          return;
        }
        if (signal === undefined) {
          world.after(ms, { actor, label, run: resolve });
          return;
        }
        const forget = (): void => signal.removeEventListener('abort', wake);
        const wake = (): void => {
          pending.cancelled = true;
          forget();
          world.atEnd.delete(forget);
          resolve();
        };
        const pending = world.after(ms, { actor, label, run: wake });
        signal.addEventListener('abort', wake);
        // Node keeps a signal that has listeners, and so whatever they know of.
        world.atEnd.add(forget);
      }),
  };
}

/** When every schedule begins, in milliseconds since 1970. */
export const EPOCH_MS = 1_800_000_000_000;
