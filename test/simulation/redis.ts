import { latencyMs, type Plan } from './plan.ts';
import { copyStore, type Store } from './store.ts';
import { type Actor, EPOCH_MS, type Pending, type World } from './world.ts';

/** What a command meets when its connection breaks: nobody knows whether it was carried out. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost';
}

const COPIES_MAX = 3;
const DOWN_MS_MAX = 3000;

export interface Command<T> {
  readonly actor: Actor;
  readonly label: string;
  /** The arming connection never sends a command again and gives up at the arm deadline. */
  readonly kind: 'commands' | 'arming';
  readonly run: (store: Store, now: number) => T;
}

/** A command on its way; it is answered or refused once. */
interface Asked<T> {
  readonly command: Command<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
  done: boolean;
  giveUp: Pending | undefined;
}

/** `unseen`: a snapshot of the whole machine comes back, and the server has the name that it had. */
type Restart = 'as it was' | 'an earlier copy' | 'unseen';

export interface FakeRedis {
  store(): Store;
  /** The server's time, milliseconds since 1970. */
  now(): number;
  call<T>(command: Command<T>): Promise<T>;
  /** Ends the server and starts it again: on its own data, or on an earlier copy. */
  restart(how: Restart): void;
  /** Its clock is set. */
  stepClock(ms: number): void;
  /** Whether it has something, and each copy of it too. */
  remembers(what: (store: Store) => boolean): boolean;
  /** Keeps a copy for a later roll-back. */
  copy(): void;
  /** From now on nothing goes wrong here any more. */
  calm(): void;
}

export function openRedis(world: World, plan: Plan, first: Store): FakeRedis {
  const { dice } = world;
  let store = first;
  let connection = 0;
  let upAt = 0;
  let isCalm = false;
  let servers = 1;
  const copies: Store[] = [];
  let stepMs = 0;
  const now = (): number => EPOCH_MS + world.now() + plan.redisSkewMs + stepMs;
  const flaky = (): boolean => !isCalm && plan.faults.has('redis-connection');
  const lag = (): number => latencyMs(dice, plan, isCalm);

  function call<T>(command: Command<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const asked: Asked<T> = { command, resolve, reject, done: false, giveUp: undefined };
      if (command.kind === 'arming') {
        const { actor, label } = command;
        asked.giveUp = world.after(plan.armDeadlineMs, {
          actor,
          label: `${label}: no answer in time`,
          run: () => refuse(asked, `${label}: time-out`),
        });
      }
      send(asked, true);
    });
  }

  function send<T>(asked: Asked<T>, mayRepeat: boolean): void {
    const { label, kind } = asked.command;
    const through = connection;
    const reach = lag();
    if (flaky() && dice.chance(0.03)) {
      world.count('redis commands lost');
      if (kind === 'commands' && dice.chance(0.5)) send(asked, false);
      else lose(asked, reach);
      return;
    }
    const wait = Math.max(0, upAt - world.now());
    if (wait > 0 && kind === 'arming') {
      lose(asked, 0);
      return;
    }
    const run = (): void => carryOut(asked, { through, mayRepeat });
    world.after(wait + reach, { actor: null, label: `redis: ${label}`, run });
  }

  function carryOut<T>(asked: Asked<T>, { through, mayRepeat }: { through: number; mayRepeat: boolean }): void {
    const { command } = asked;
    const { actor, label } = command;
    const repeats = command.kind === 'commands' && mayRepeat;
    if (through !== connection) {
      if (repeats) send(asked, false);
      else lose(asked, lag());
      return;
    }
    const value = command.run(store, now());
    if (flaky() && dice.chance(0.03)) {
      world.count('redis replies lost');
      if (repeats && dice.chance(0.5)) send(asked, false);
      else lose(asked, lag());
      return;
    }
    // Half of the answers are there at once: nothing happens in between that could not happen after.
    if (!actor.dead && actor.stoppedUntil <= world.now() && (isCalm || dice.chance(0.5))) {
      world.wake();
      answer(asked, value);
      return;
    }
    world.after(lag(), { actor, label: `${label} answered`, run: () => answer(asked, value) });
  }

  function lose<T>(asked: Asked<T>, ms: number): void {
    const { actor, label } = asked.command;
    world.after(ms, { actor, label: `${label}: connection lost`, run: () => refuse(asked, label) });
  }

  return {
    store: () => store,
    now,
    call,
    restart(how) {
      connection++;
      servers++;
      upAt = world.now() + dice.between(0, dice.chance(0.5) ? DOWN_MS_MAX : 50);
      const { server } = store;
      const there = how === 'unseen' ? copies.filter((copy) => copy.server === server) : copies;
      const old = how !== 'as it was' && there.length > 0 ? dice.pick(there) : store;
      const isUnseen = how === 'unseen' && old !== store;
      world.count(old === store ? 'redis restarts' : 'rollbacks');
      world.say(
        () =>
          `redis restarts on ${old === store ? 'its data' : 'an earlier copy'} as server ${isUnseen ? server : servers}`,
      );
      store = copyStore(old);
      store.server = isUnseen ? server : `server-${servers}`;
      if (isUnseen) world.count('rollbacks under the same name');
    },
    stepClock(ms) {
      stepMs += ms;
      world.count('clock steps');
      world.say(() => `the clock of redis steps by ${ms} ms`);
    },
    remembers: (what) => [store, ...copies].every(what),
    copy() {
      if (copies.length < COPIES_MAX) copies.push(copyStore(store));
      else copies[dice.between(0, COPIES_MAX - 1)] = copyStore(store);
    },
    calm() {
      isCalm = true;
      upAt = 0;
    },
  };
}

function answer<T>(asked: Asked<T>, value: T): void {
  if (end(asked)) asked.resolve(value);
}

function refuse<T>(asked: Asked<T>, why: string): void {
  if (end(asked)) asked.reject(new ConnectionLost(why));
}

/** False when it has ended before. */
function end<T>(asked: Asked<T>): boolean {
  if (asked.done) return false;
  asked.done = true;
  if (asked.giveUp !== undefined) asked.giveUp.cancelled = true;
  return true;
}
