import { DECISIONS } from '../../src/payout.ts';
import { ROW_STATES } from './store.ts';

/** Everything that is counted, in the order in which it is shown: what never happened shows as well. */
export const HAPPENINGS = [
  'armings',
  're-armings',
  'requests',
  'payments',
  'requests lost',
  'requests doubled',
  'refused and made',
  'replies lost',
  'payments missed',
  'quotes proven dead',
  'kills',
  'stops',
  'terminations',
  'power losses',
  'redis commands lost',
  'redis replies lost',
  'redis restarts',
  'rollbacks',
  'rollbacks under the same name',
  'lines restored',
  'directories copied',
  'lies',
  'clock steps',
  'halts',
  'releases',
  'runs paused',
  'runs resumed',
  'runs cancelled',
  'payouts cancelled',
  ...DECISIONS.flatMap((decision) => [
    `${decision} proposed` as const,
    `${decision} done` as const,
    `${decision} refused` as const,
  ]),
  'schedules with something to decide',
  'schedules with a decision',
  'schedules with a decision carried out',
  ...ROW_STATES.map((state) => `ended ${state}` as const),
] as const;

export type Happening = (typeof HAPPENINGS)[number];
