import type { IntentLine } from '../../src/ledger/intent-line.ts';
import { latencyMs, type Plan } from './plan.ts';
import { copyStore, type Store } from './store.ts';
import { type Actor, EPOCH_MS, nothing, type World } from './world.ts';

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

/** `unseen`: a snapshot of the whole machine comes back, and the server has the name that it had. */
type Restart = 'as it was' | 'an earlier copy' | 'unseen';

export interface FakeRedis {
  readonly store: Store;
  /** The server's time, milliseconds since 1970. */
  now(): number;
  call<T>(command: Command<T>): Promise<T>;
  /** Ends the server and starts it again: on its own data, or on an earlier copy. */
  restart(how: Restart): void;
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
  const now = (): number => EPOCH_MS + world.now() + plan.redisSkewMs;
  const flaky = (): boolean => !isCalm && plan.faults.has('redis-connection');
  const lag = (): number => latencyMs(dice, plan, isCalm);

  function call<T>(command: Command<T>): Promise<T> {
    const { actor, label, kind } = command;
    return new Promise((resolve, reject) => {
      let done = false;
      let giveUp = nothing;
      const settle = (finish: () => void): void => {
        if (done) return;
        done = true;
        giveUp();
        finish();
      };
      const lose = (ms: number): void => {
        world.after(ms, {
          actor,
          label: `${label}: connection lost`,
          run: () => settle(() => reject(new ConnectionLost(label))),
        });
      };
      if (kind === 'arming') {
        giveUp = world.after(plan.armDeadlineMs, {
          actor,
          label: `${label}: no answer in time`,
          run: () => settle(() => reject(new ConnectionLost(`${label}: time-out`))),
        });
      }
      const send = (mayRepeat: boolean): void => {
        const through = connection;
        const reach = lag();
        if (flaky() && dice.chance(0.03)) {
          world.count('redis commands lost');
          if (kind === 'commands' && dice.chance(0.5)) send(false);
          else lose(reach);
          return;
        }
        const wait = Math.max(0, upAt - world.now());
        if (wait > 0 && kind === 'arming') {
          lose(0);
          return;
        }
        world.after(wait + reach, {
          actor: null,
          label: `redis: ${label}`,
          run: () => {
            if (through !== connection) {
              if (kind === 'commands' && mayRepeat) send(false);
              else lose(lag());
              return;
            }
            const value = command.run(store, now());
            if (flaky() && dice.chance(0.03)) {
              world.count('redis replies lost');
              if (kind === 'commands' && mayRepeat && dice.chance(0.5)) send(false);
              else lose(lag());
              return;
            }
            // Half of the answers are there at once: nothing happens in between that could not happen after.
            if (!actor.dead && actor.stoppedUntil <= world.now() && (isCalm || dice.chance(0.5))) {
              settle(() => resolve(value));
              return;
            }
            world.after(lag(), { actor, label: `${label} answered`, run: () => settle(() => resolve(value)) });
          },
        });
      };
      send(true);
    });
  }

  return {
    get store() {
      return store;
    },
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

/** The intent logs of a host: what was written, and whether it survives a loss of power. */
export interface FakeDisk {
  readonly lines: { readonly line: IntentLine; isSynced: boolean }[];
  /** The other data directories, as this one has noted them. */
  peers: readonly string[];
}
