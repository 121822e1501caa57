import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { outcomeOf, PAYOUT_STATES, type PayoutState, RUN_STATES, type RunState } from './payout.ts';
import type { ObserveCall } from './service/client.ts';
import { VERSION } from './version.ts';

/** What of the ledger, its Redis, the queues and the disks is shown at one look. */
export interface Figures {
  /** Null when Redis did not answer: then nothing is said of what it holds. */
  readonly ledger: LedgerFigures | null;
  readonly queues: readonly QueueFigures[];
  readonly disks: readonly DiskFigures[];
}

export interface LedgerFigures {
  readonly payouts: Readonly<Record<PayoutState | 'refused', number>>;
  readonly runs: Readonly<Record<RunState, number>>;
  readonly armings: number;
  readonly refusedMoves: number;
  readonly halted: boolean;
  readonly seasonOpen: boolean;
  readonly durable: boolean;
  readonly moving: boolean;
  /** Payment requests a second over all workers; undefined where they are not limited. */
  readonly ratePerSecond: number | undefined;
  /** Rows of runs that will miss a cut-off at that rate. */
  readonly lateRows: number;
  readonly endpoints: readonly { readonly name: string; readonly waiting: number; readonly deadLetters: number }[];
}

interface QueueFigures {
  readonly job: string;
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly oldestMs: number;
}

interface DiskFigures {
  readonly folder: string;
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

/** The figures of one process, as Prometheus reads them. No label holds an id, a name or an amount. */
export interface Metrics {
  readonly observe: ObserveCall;
  /** Told once of each run that ended: how long it took from its recording. */
  readonly runEnded: (afterMs: number) => void;
  /** In the text format of Prometheus. */
  text(figures: Figures): Promise<string>;
  readonly contentType: string;
}

type Reading = readonly [labels: Readonly<Record<string, string>>, value: number];

interface Shown {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  readonly read: (figures: Figures) => readonly Reading[];
}

const SERVICE_BUCKETS_S = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const RUN_BUCKETS_S = [1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 3 * 24 * 3600];

const GAUGES: readonly Shown[] = [
  {
    name: 'payrun_payouts',
    help: 'Payouts of all runs by state and outcome',
    labels: ['state', 'outcome'],
    read: ofLedger(({ payouts }) =>
      [...PAYOUT_STATES, 'refused' as const].map((state) => [{ state, outcome: outcomeOf(state) }, payouts[state]]),
    ),
  },
  {
    name: 'payrun_runs',
    help: 'Runs by state',
    labels: ['state'],
    read: ofLedger(({ runs }) => RUN_STATES.map((state) => [{ state }, runs[state]])),
  },
  flag('payrun_halted', 'Whether everything is halted', ({ halted }) => halted),
  flag('payrun_season_open', 'Whether arming is allowed on this Redis', ({ seasonOpen }) => seasonOpen),
  flag('payrun_redis_durable', 'Whether what Redis acknowledges lasts', ({ durable }) => durable),
  flag('payrun_moving', 'Whether payouts that are due are taken', ({ moving }) => moving),
  {
    name: 'payrun_rate',
    help: 'Payment requests a second that all workers may send; absent where they are not limited',
    read: ofLedger(({ ratePerSecond }) => (ratePerSecond === undefined ? [] : [[{}, ratePerSecond]])),
  },
  {
    name: 'payrun_late_rows',
    help: 'Rows of runs that will leave after a cut-off at the rate of now',
    read: ofLedger(({ lateRows }) => [[{}, lateRows]]),
  },
  {
    name: 'payrun_redis_up',
    help: 'Whether Redis answered',
    read: ({ ledger }) => [[{}, ledger === null ? 0 : 1]],
  },
  {
    name: 'payrun_notifications_waiting',
    help: 'Notifications that wait for an endpoint',
    labels: ['endpoint'],
    read: ofLedger(({ endpoints }) => endpoints.map(({ name, waiting }) => [{ endpoint: name }, waiting])),
  },
  {
    name: 'payrun_dead_letters',
    help: 'Notifications that were given up and are kept',
    labels: ['endpoint'],
    read: ofLedger(({ endpoints }) => endpoints.map(({ name, deadLetters }) => [{ endpoint: name }, deadLetters])),
  },
  {
    name: 'payrun_jobs',
    help: 'Jobs in the queues',
    labels: ['job', 'state'],
    read: ({ queues }) =>
      queues.flatMap(({ job, waiting, active, delayed }) => [
        [{ job, state: 'waiting' }, waiting],
        [{ job, state: 'active' }, active],
        [{ job, state: 'delayed' }, delayed],
      ]),
  },
  {
    name: 'payrun_job_oldest_seconds',
    help: 'Age of the job that waits longest; 0 when none waits',
    labels: ['job'],
    read: ({ queues }) => queues.map(({ job, oldestMs }) => [{ job }, oldestMs / 1000]),
  },
  {
    name: 'payrun_disk_free_bytes',
    help: 'Room on the disk below a folder of this process',
    labels: ['folder'],
    read: ({ disks }) => disks.map(({ folder, freeBytes }) => [{ folder }, freeBytes]),
  },
  {
    name: 'payrun_disk_size_bytes',
    help: 'Size of the disk below a folder of this process',
    labels: ['folder'],
    read: ({ disks }) => disks.map(({ folder, sizeBytes }) => [{ folder }, sizeBytes]),
  },
  {
    name: 'payrun_build_info',
    help: 'The version of payrun',
    labels: ['version'],
    read: () => [[{ version: VERSION }, 1]],
  },
];

/** Kept by the ledger itself: they grow whichever process counts. */
const COUNTERS: readonly Shown[] = [
  {
    name: 'payrun_armings_total',
    help: 'Payment requests that were armed, of all processes',
    read: ofLedger(({ armings }) => [[{}, armings]]),
  },
  {
    name: 'payrun_refused_moves_total',
    help: 'Moves of payouts that the table of moves refused, of all processes',
    read: ofLedger(({ refusedMoves }) => [[{}, refusedMoves]]),
  },
];

function ofLedger(read: (ledger: LedgerFigures) => readonly Reading[]): Shown['read'] {
  return ({ ledger }) => (ledger === null ? [] : read(ledger));
}

function flag(name: string, help: string, is: (ledger: LedgerFigures) => boolean): Shown {
  return { name, help, read: ofLedger((ledger) => [[{}, is(ledger) ? 1 : 0]]) };
}

/** Makes the figures of this process; those of Node and of the process itself begin with the first look. */
export function openMetrics(): Metrics {
  const registers = [new Registry()];
  const [registry = new Registry()] = registers;
  const gauges = GAUGES.map(({ read, name, help, labels }) => {
    return { read, labels, metric: new Gauge({ name, help, labelNames: [...(labels ?? [])], registers }) };
  });
  const counters = COUNTERS.map(({ read, name, help }) => ({ read, metric: new Counter({ name, help, registers }) }));
  const runSeconds = new Histogram({
    name: 'payrun_run_seconds',
    help: 'Time from the recording of a run to its end, of runs that ended while this process looked',
    buckets: RUN_BUCKETS_S,
    registers,
  });
  let looked = false;

  function show(figures: Figures): void {
    for (const { read, metric, labels } of gauges) {
      clear(metric, labels);
      for (const [of, value] of read(figures)) metric.set(of, value);
    }
    for (const { read, metric } of counters) {
      clear(metric);
      for (const [, value] of read(figures)) metric.inc(value);
    }
  }

  return {
    observe: openObserver(registers),
    runEnded: (afterMs) => runSeconds.observe(afterMs / 1000),
    contentType: registry.contentType,
    async text(figures) {
      if (!looked) collectDefaultMetrics({ register: registry });
      looked = true;
      show(figures);
      return await registry.metrics();
    },
  };
}

/** Forgets what was seen; reset, a figure without labels would stand at 0. */
function clear(metric: Gauge | Counter, labels: readonly string[] = []): void {
  metric.reset();
  if (labels.length === 0) metric.remove();
}

function openObserver(registers: Registry[]): ObserveCall {
  const serviceSeconds = new Histogram({
    name: 'payrun_service_seconds',
    help: 'Requests of this process to the payments service by operation and answer, to the end of the answer',
    labelNames: ['operation', 'answer'],
    buckets: SERVICE_BUCKETS_S,
    registers,
  });
  const tokens = new Counter({
    name: 'payrun_token_refreshes_total',
    help: 'Requests of this process for an access token by answer',
    labelNames: ['answer'],
    registers,
  });
  return ({ operation, answer, ms }) => {
    serviceSeconds.observe({ operation, answer }, ms / 1000);
    if (operation === 'token') tokens.inc({ answer });
  };
}
