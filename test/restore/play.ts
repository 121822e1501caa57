import { afterAll, beforeAll, test, vi } from 'vitest';
import { openDice } from '../simulation/dice.ts';
import { buildProcesses, type Processes } from '../support/payrun-processes.ts';
import { actAtRandom, faultsOf, handIn, letGo, openOffice } from './acts.ts';
import { openCompany, openTown, type Town } from './company.ts';
import { reportFaultsOf } from './report-faults.ts';

const ACTS_BEFORE = 6;
const ACTS_AFTER = 10;
/** For one seed beside the others, on a busy machine. */
const SEED_MS_MAX = 6 * 60_000;
const SETTLED = { timeout: 120_000, interval: 500 };

/** A test for each seed. Some are played at once: they wait more than they compute. */
export function testRandomActs(seeds: readonly number[], { atOnce }: { readonly atOnce: number }): void {
  let processes: Processes;
  let town: Town;
  vi.setConfig({ maxConcurrency: atOnce });
  beforeAll(async () => {
    processes = buildProcesses();
    town = await openTown(processes);
  });
  afterAll(() => processes.remove());
  test.concurrent.for([...seeds])(
    'whatever people do before and after a restore, seed %i, no reference is paid twice and each payment is told, to the cent in each report',
    { timeout: SEED_MS_MAX },
    async (seed, { expect }) => {
      const { faults, done } = await play(town, seed);
      expect({ faults, done }).toEqual({ faults: [], done });
    },
  );
}

interface Played {
  readonly faults: readonly string[];
  /** What was done, in its order. */
  readonly done: readonly string[];
}

/** People, hosts and a Redis that goes back to a copy, by chance; ends when nothing is left that could be paid. */
async function play(town: Town, seed: number): Promise<Played> {
  const dice = openDice(seed);
  const company = await openCompany(town, dice);
  try {
    const office = openOffice(company, dice, seed);
    company.work();
    await handIn(office);
    await actAtRandom(office, dice.between(0, 3));
    company.copy();
    await actAtRandom(office, ACTS_BEFORE);
    for (let times = dice.chance(0.2) ? 2 : 1; times > 0; times--) {
      const stopped = company.hosts.filter(() => dice.chance(0.8));
      for (const host of stopped) await company.stop(host, dice.chance(0.3) ? 'kill' : 'stop');
      await company.putBack();
      // A file may come before any worker runs.
      if (dice.chance(0.2)) await handIn(office);
      company.work();
      await actAtRandom(office, ACTS_AFTER / times);
    }
    const faults = await vi
      .waitUntil(() => letGo(office), SETTLED)
      .then(async () => [...(await faultsOf(office)), ...(await reportFaultsOf(office))])
      .catch(async (error: unknown) => [
        `it did not come to its end: ${String(error)}`,
        ...(await company.listed()).map((run) => JSON.stringify(run)),
      ]);
    return { faults, done: company.done };
  } finally {
    await company.close();
  }
}
