import type { Clock } from '../../src/clock.ts';
import { type Dice, openDice } from './dice.ts';
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
}

/** Why a schedule failed. */
export interface Failure {
  readonly rule: string;
  readonly text: string;
}

export interface World {
  readonly dice: Dice;
  /** Milliseconds of true time since the beginning. */
  now(): number;
  /** Lets something happen to an actor, or to nobody, after `ms`. The result takes it back. */
  after(ms: number, what: { actor: Actor | null; label: string; run: () => void }): () => void;
  /** Makes the next event happen; false when there is none or the schedule is over. */
  step(): boolean;
  /** Runs before each event of an actor; true takes its place (the actor was killed or stopped). */
  meddle: (actor: Actor) => boolean;
  say(text: () => string): void;
  fail(rule: string, text: string): void;
  readonly failure: Failure | undefined;
  readonly trace: readonly string[];
  readonly steps: number;
  count(what: string): void;
  readonly counts: ReadonlyMap<string, number>;
  end(): void;
}

export function openWorld(seed: number, { traced }: { traced: boolean }): World {
  const dice = openDice(seed);
  const queue = openQueue();
  const trace: string[] = [];
  const counts = new Map<string, number>();
  let now = 0;
  let seq = 0;
  let steps = 0;
  let failure: Failure | undefined;
  let ended = false;

  const say = (text: () => string): void => {
    if (traced) trace.push(`${String(now).padStart(7)} ${text()}`);
  };

  const world: World = {
    dice,
    now: () => now,
    after(ms, { actor, label, run }) {
      const event = { at: now + Math.max(0, Math.ceil(ms)), seq: seq++, actor, label, run, cancelled: false };
      queue.push(event);
      return () => {
        event.cancelled = true;
      };
    },
    step() {
      if (ended || failure !== undefined) return false;
      const event = queue.take();
      if (event === undefined) return false;
      now = Math.max(now, event.at);
      steps++;
      if (event.actor !== null && world.meddle(event.actor)) {
        if (!event.actor.dead) queue.push(event);
        return true;
      }
      say(() => `${event.actor?.name ?? '-'} ${event.label}`);
      event.run();
      return true;
    },
    meddle: () => false,
    say,
    fail(rule, text) {
      say(() => `FAILED ${rule}: ${text}`);
      failure ??= { rule, text };
    },
    get failure() {
      return failure;
    },
    trace,
    get steps() {
      return steps;
    },
    count(what) {
      counts.set(what, (counts.get(what) ?? 0) + 1);
    },
    counts,
    end() {
      ended = true;
    },
  };
  return world;
}

/** A process's view of the time: its wall clock is wrong by a constant, its monotonic one begins anywhere. */
export function clockOf(world: World, actor: Actor, skew: { wallMs: number; monotonicMs: number }): Clock {
  return {
    now: () => EPOCH_MS + world.now() + skew.wallMs,
    monotonic: () => world.now() + skew.monotonicMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (!(ms > 0) || signal?.aborted === true) {
          resolve();
          return;
        }
        let cancel = nothing;
        const wake = (): void => {
          cancel();
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        cancel = world.after(ms, { actor, label: 'wakes from a sleep', run: wake });
        signal?.addEventListener('abort', wake);
      }),
  };
}

/** When every schedule begins, in milliseconds since 1970. */
export const EPOCH_MS = 1_800_000_000_000;

/** Stands for what there is not yet to take back. */
export function nothing(): void {}
