import { setMaxListeners } from 'node:events';
import { type Job, Worker } from 'bullmq';
import type { App } from '../src/app.ts';
import { openSource, requireFolder } from '../src/inbox/open-source.ts';
import { readInbox } from '../src/inbox/read-inbox.ts';
import { describeFault } from '../src/inbox/retry-backoff.ts';
import { IntentLogFault } from '../src/ledger/intents/intent-log.ts';
import { withoutRepeats } from '../src/log.ts';
import type { PayDeps } from '../src/pay/deps.ts';
import { lookUpPayout } from '../src/pay/look-up/look-up.ts';
import { trackPayout } from '../src/pay/track/track.ts';
import { Refusal } from '../src/refusal.ts';
import { purgeRuns } from '../src/runs/after/purge.ts';
import { hasEnded } from '../src/runs/decide/control.ts';
import { startWaitingRuns } from '../src/runs/hand-in/start.ts';
import { openSealGuard } from '../src/runs/safety/seal-guard.ts';
import type { InboxAct } from '../src/schedules/schedule.ts';
import { payoutsAtATime } from '../src/service/places.ts';
import { CATALOG, JOB_NAMES, type JobName, type JobPayload } from './catalog.ts';
import type { JobDeps } from './deps.ts';
import { feed } from './feed.ts';
import { openGate } from './gate.ts';
import { LOCK_MS, STALLED_EVERY_MS } from './locks.ts';
import { tellNames } from './names.ts';
import { notify, wakeNotify } from './notify.ts';
import type { JobQueues } from './open.ts';
import { pay } from './pay.ts';
import { report, reportJob } from './report.ts';
import { doScheduled, type ScheduledActs, setWakers, sweepSchedules, tickSchedule } from './schedules.ts';
import { SWEEP_EVERY_MS, sweep } from './sweep.ts';

const STALLED_MAX = 1000;
/** BullMQ's wait after its connection failed; its own is 15 s. */
const RETRY_MS = 1000;
const LOOK_UPS_AT_A_TIME = 64;
const TRACKED_AT_A_TIME = 64;

export interface PayWorker {
  /**
   * Begins nothing new, lets what is in flight end for at most `withinMs`, and leaves the rest safe: what was sent
   * without an answer is looked up by whoever comes next.
   */
  stop(withinMs: number): Promise<void>;
}

/**
 * Works on all jobs until it is stopped. `onFatal` is told of a fault after which this process must not go on (`isFatal`).
 */
export function startWorker(app: App<JobQueues>, payDeps: PayDeps, onFatal: (error: Error) => void): PayWorker {
  const stopping = new AbortController();
  // Each payout that waits listens to it.
  setMaxListeners(0, stopping.signal);
  const deps: JobDeps = {
    app,
    pay: payDeps,
    isSealed: openSealGuard({ ...app, pay: payDeps }),
    payGate: openGate(payoutsAtATime(app.config.concurrency)),
    lookGate: openGate(LOOK_UPS_AT_A_TIME),
    trackGate: openGate(TRACKED_AT_A_TIME),
    stopping: stopping.signal,
  };
  const workers = JOB_NAMES.map((name) => openWorker(deps, name, onFatal));
  const ticking = tick(deps, onFatal);
  return {
    async stop(withinMs) {
      stopping.abort();
      const closed = Promise.all([ticking, ...workers.map((worker) => worker.close())]).then(() =>
        app.jobs.living.leave(),
      );
      const waiting = new AbortController();
      await Promise.race([closed, app.clock.sleep(withinMs, waiting.signal)]);
      waiting.abort();
      // What did not end in time, because its Redis or its service is away, is left as it is.
      closed.catch((error: unknown) => app.log.warn('a worker could not be closed', { error }));
    },
  };
}

/** Adds a sweep for each period; processes that tick at once add the same one. */
async function tick(deps: JobDeps, onFatal: (error: Error) => void): Promise<void> {
  const { app, stopping } = deps;
  await app.jobs.living.note();
  await setWakers({ app });
  while (!stopping.aborted) {
    app.refreshSeason().catch((error: unknown) => app.log.warn('the season could not be looked at', { error }));
    requireSameSafety(app).catch((error: unknown) => {
      if (error instanceof Refusal) onFatal(error);
    });
    void wakeNotify({ app });
    void tellNames(deps);
    const period = Math.floor(app.clock.now() / SWEEP_EVERY_MS);
    try {
      await app.jobs.living.note();
      await app.jobs.add('sweep', [{ id: `sweep-${period}`, payload: { period } }]);
    } catch (error) {
      app.log.warn('no sweep could be asked for', { error });
    }
    await app.clock.sleep(SWEEP_EVERY_MS, stopping);
  }
}

/** A worker that was frozen, or starts at this moment, is not seen by whoever adopts other settings. */
async function requireSameSafety(app: App<JobQueues>): Promise<void> {
  const { instance, safety } = await app.ledger.state.read();
  if (instance !== '' && safety !== app.safety) await app.requireSafety();
}

function openWorker(deps: JobDeps, name: JobName, onFatal: (error: Error) => void): Worker {
  const { app } = deps;
  const log = withoutRepeats(app.log, () => app.clock.monotonic());
  const worker = new Worker(name, async (job) => await process(deps, name, job), {
    connection: app.jobs.redis,
    prefix: app.jobs.prefix,
    concurrency: CATALOG[name].atATime,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_EVERY_MS,
    maxStalledCount: STALLED_MAX,
    runRetryDelay: RETRY_MS,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  // That Redis is away is told once; that jobs lost their locks over it, once and not by each of them.
  worker.on('error', (error) =>
    log['syscall' in error ? 'debug' : 'warn']('a worker has a fault', { job: name, error }),
  );
  worker.on('stalled', () => log.warn('a job was given to another worker', { job: name }));
  worker.on('failed', (_job, error) => {
    log.warn('a job failed', { job: name, error });
    if (isFatal(name, error)) onFatal(error);
  });
  return worker;
}

/**
 * After these nothing can be paid from this process: its disk lost a line, its intent log is damaged, or it has other settings
 * than the ledger. What is away may come back.
 */
function isFatal(name: JobName, error: Error): boolean {
  if (error instanceof IntentLogFault) return error.poisoned;
  return error instanceof Refusal && error.kind !== 'unavailable' && (name === 'pay' || name === 'look-up');
}

const PROCESSORS: { readonly [Name in JobName]: (deps: JobDeps, data: unknown) => Promise<void> } = {
  feed: (deps, data) => feed(deps, CATALOG.feed.payload.parse(data)),
  pay: (deps, data) => pay(deps, CATALOG.pay.payload.parse(data)),
  'look-up': (deps, data) => lookUp(deps, CATALOG['look-up'].payload.parse(data)),
  track: (deps, data) => track(deps, CATALOG.track.payload.parse(data)),
  watch: (deps, data) => watch(deps, CATALOG.watch.payload.parse(data)),
  report: (deps, data) => report(deps, CATALOG.report.payload.parse(data)),
  tick: (deps, data) => tickSchedule(deps, CATALOG.tick.payload.parse(data)),
  scheduled: (deps, data) => doScheduled(deps, CATALOG.scheduled.payload.parse(data), SCHEDULED_ACTS),
  notify: (deps, data) => notify(deps, CATALOG.notify.payload.parse(data)),
  async sweep(deps) {
    await sweepSchedules(deps);
    await sweep(deps);
  },
};

const SCHEDULED_ACTS: ScheduledActs = {
  start: ({ app }, { planned }) => startWaitingRuns(app, planned),
  inbox,
  purge,
};

async function purge({ app }: JobDeps, actor: string): Promise<void> {
  const { retentionMs } = app.config;
  if (retentionMs === undefined) {
    throw new Refusal(
      'No retention period is set.',
      'Set PAYRUN_RETENTION for the workers, for example to 400d, or remove the schedule.',
    );
  }
  await purgeRuns(app, { actor, olderThanMs: retentionMs });
}

/** A processor returns nothing: a result that cannot be written as JSON would turn a success into a retry. */
async function process(deps: JobDeps, name: JobName, job: Job): Promise<void> {
  await deps.app.traceJob({ name, run: runOf(job) }, () => PROCESSORS[name](deps, job.data));
}

function runOf({ data }: Job<unknown>): string | undefined {
  const named = typeof data === 'object' && data !== null && 'runId' in data ? data.runId : undefined;
  return typeof named === 'string' ? named : undefined;
}

/** Follows accepted payments, and has the report of a run that is over written anew. */
async function track(deps: JobDeps, { runId, lines }: JobPayload<'track'>): Promise<void> {
  await trackLines(deps, runId, lines);
  await reportAgain(deps, runId);
}

/** Looks whether completed payments of a finished run came back. */
async function watch(deps: JobDeps, { runId }: JobPayload<'watch'>): Promise<void> {
  for await (const lines of deps.app.ledger.runs.linesIn(runId, { state: 'completed' })) {
    if (deps.stopping.aborted) return;
    await trackLines(deps, runId, lines);
  }
  await reportAgain(deps, runId);
}

async function reportAgain({ app }: JobDeps, runId: string): Promise<void> {
  const run = await app.ledger.runs.read(runId);
  if (run !== undefined && hasEnded(run)) await app.jobs.add('report', [reportJob(run, app.clock.now())]);
}

async function trackLines(deps: JobDeps, runId: string, lines: readonly number[]): Promise<void> {
  await Promise.all(
    lines.map((line) =>
      deps.trackGate(runId, async () => {
        if (!deps.stopping.aborted) await trackPayout(deps.pay, { runId, line }, deps.stopping);
      }),
    ),
  );
}

/** Looks up payouts whose payment may exist. */
async function lookUp(deps: JobDeps, { runId, lines }: JobPayload<'look-up'>): Promise<void> {
  await Promise.all(
    lines.map((line) =>
      deps.lookGate(runId, async () => {
        if (!deps.stopping.aborted) await lookUpPayout(deps.pay, { runId, line });
      }),
    ),
  );
}

/** Reads an inbox once, for a schedule. What cannot be answered now is found again by the next one. Throws a Refusal for a folder that is not there. */
async function inbox({ app, stopping }: JobDeps, { dir, stages }: InboxAct, actor: string): Promise<void> {
  await requireFolder(dir);
  const source = openSource(app, dir);
  try {
    await readInbox(app, source, {
      actor,
      stages,
      skipInvalid: false,
      stopping,
      answered: (as, { kind }) =>
        app.log.info(kind === 'ack' ? 'a file was accepted' : 'a file was answered with what is wrong', { reason: as }),
      reported: (run) => app.log.info('a report was delivered', { run }),
      describe: describeFault,
      say: (reason) => app.log.warn('the inbox has a fault', { reason }),
    });
  } finally {
    await source.close();
  }
}
