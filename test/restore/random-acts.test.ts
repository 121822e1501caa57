import { afterAll, beforeAll, test, vi } from 'vitest';
import { buildProcesses, type Processes } from '../support/payrun-processes.ts';
import { openTown, type Town } from './company.ts';
import { play, SEED_MS_MAX } from './play.ts';

/** How many seeds; RANDOM_ACTS_FROM is the first. */
const SEEDS = Number.parseInt(process.env['RANDOM_ACTS'] ?? '200', 10);
const FROM = Number.parseInt(process.env['RANDOM_ACTS_FROM'] ?? '1', 10);

// They wait more than they compute.
vi.setConfig({ maxConcurrency: 5 });

let processes: Processes;
let town: Town;
beforeAll(async () => {
  processes = buildProcesses();
  town = await openTown(processes);
});
afterAll(async () => {
  await town.clerks.close();
  await processes.remove();
});

test.concurrent.for(Array.from({ length: SEEDS }, (_, index) => FROM + index))(
  'whatever people do before and after a restore, seed %i, no reference is paid twice and each payment is told',
  { timeout: SEED_MS_MAX },
  async (seed, { expect }) => {
    const { faults, done } = await play(town, seed);
    expect({ faults, done }).toEqual({ faults: [], done });
  },
);
