import { setTimeout as delay } from 'node:timers/promises';
import { manyRows } from './many-rows.ts';
import type { Rig, RigProcess } from './rig.ts';

/** Rows that are handed in together. */
export const PART_ROWS = 250;
/** So many payouts are open at most when another part of the rows is handed in. */
const OPEN_MAX = 400;
/** How often a worker is killed that is not ready yet. */
const STARTING_SHARE = 0.2;
const WAIT_FOR_OPEN_MS = 200;

export interface Fire {
  readonly forMs: number;
  readonly rowsMax: number;
  /** Workers that are killed; each is started again at once. */
  readonly killed: readonly string[];
  readonly killEveryMs: readonly [number, number];
  readonly redisEveryMs: number;
  readonly openAtEndMax: number;
}

/** Hands rows in, part by part, as they are paid, while workers die and Redis restarts. Ends with all workers running. */
export async function underFire(rig: Rig, fire: Fire): Promise<void> {
  const started = performance.now();
  const passed = (): number => performance.now() - started;
  const over = new AbortController();
  const workers = new Map(fire.killed.map((name) => [name, watched(rig, name)]));
  // A data directory arms once the others know it.
  await rig.until('all workers', () => [...workers.values()].every((worker) => worker.isReady()));
  const totals = { rows: 0, kills: 0, restarts: 0 };
  const between = ([least, most]: readonly [number, number]): number => least + rig.random() * (most - least);

  /** Mostly one that works, and now and then one that is being started. */
  const victim = (): string | undefined => {
    const names = fire.killed.filter((name) => rig.random() < STARTING_SHARE || workers.get(name)?.isReady());
    return names[Math.floor(rig.random() * names.length)];
  };
  async function kill(): Promise<void> {
    while (!over.signal.aborted) {
      await delay(between(fire.killEveryMs));
      const name = victim();
      if (name === undefined) continue;
      workers.get(name)?.process.kill('SIGKILL');
      await workers.get(name)?.process.ended;
      workers.set(name, watched(rig, name));
      totals.kills += 1;
    }
  }
  async function restart(): Promise<void> {
    for (let next = fire.redisEveryMs; next < fire.forMs; next += fire.redisEveryMs) {
      await delay(next - passed());
      await (rig.random() < 0.5 ? rig.redis.kill() : rig.redis.stop());
      await rig.redis.start();
      totals.restarts += 1;
    }
  }
  async function handIn(): Promise<void> {
    while (passed() < fire.forMs) {
      await delay(WAIT_FOR_OPEN_MS);
      if (totals.rows >= fire.rowsMax || (await openNow(rig)) >= OPEN_MAX) continue;
      // What was recorded in part is carried on by the same file alone.
      while (!(await handedIn(rig, totals.rows))) await delay(WAIT_FOR_OPEN_MS);
      totals.rows += PART_ROWS;
    }
    while ((await openNow(rig)) > fire.openAtEndMax) await delay(WAIT_FOR_OPEN_MS);
    over.abort();
  }
  await Promise.all([kill(), restart(), handIn()]);
  const lastedS = Math.round(passed() / 1000);
  console.log(`${totals.rows} rows, ${totals.kills} kills, ${totals.restarts} restarts of Redis in ${lastedS} s`);
}

interface Watched {
  readonly process: RigProcess;
  isReady(): boolean;
}

function watched(rig: Rig, name: string): Watched {
  const process = rig.launchWorker(name);
  let isReady = false;
  const ready = (): void => {
    isReady = true;
  };
  process.said('is ready').then(ready, () => {});
  return { process, isReady: () => isReady };
}

/** Payouts that are not settled. A Redis that is being started has to be asked again. */
async function openNow(rig: Rig): Promise<number> {
  try {
    const { ready = 0, armed = 0, quoted = 0, unknown = 0, accepted = 0 } = await rig.states();
    return ready + armed + quoted + unknown + accepted;
  } catch {
    return OPEN_MAX;
  }
}

/** Whether the rows from here on were handed in; a Redis that is away or in a closed season refuses them for now. */
async function handedIn(rig: Rig, from: number): Promise<boolean> {
  const file = manyRows(rig.file, PART_ROWS, { name: 'SOAK', from });
  try {
    await rig.submit({ name: `part-${from}.csv`, file, from: 'elsewhere' });
    return true;
  } catch {
    return false;
  }
}
