import { once } from 'node:events';
import { z } from 'zod';
import type { JobQueues } from '../../../jobs/open.ts';
import { startWorker } from '../../../jobs/worker.ts';
import type { App } from '../../app.ts';
import { systemClock } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import { duration } from '../../duration.ts';
import { requirePayoutFile } from '../../intake/payout-source.ts';
import { problemsDocument } from '../../intake/problems/document.ts';
import type { AtCrashPoint } from '../../pay/crash-point.ts';
import type { PayDeps } from '../../pay/deps.ts';
import type { Run } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { summaryText } from '../../report/summary-text.ts';
import { finishRun, lookUpDeadQuotes } from '../../runs/after/finish.ts';
import { requireReportFolder, writeReport } from '../../runs/after/report.ts';
import { hasEnded } from '../../runs/decide/control.ts';
import { documentOf } from '../../runs/document.ts';
import { costPreviewOf } from '../../runs/hand-in/submission-options.ts';
import { requireSeason, type Submitted, submitRun } from '../../runs/hand-in/submit.ts';
import { countText, maySettle, rowsSent } from '../../runs/progress.ts';
import { readRun } from '../../runs/read-run.ts';
import { REHEARSAL_NAMES } from '../../sandbox/faults/rehearsals.ts';
import { command, type GivenOptions } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { systemRefusal } from '../explain.ts';
import { openLateTelling } from '../look/late.ts';
import { tellOutages } from '../look/outages.ts';
import { actorOf, withApp } from '../open.ts';
import { personName } from '../options.ts';
import { isShownWhole, print, printJson, safeText, say, shellWord, stderr } from '../print.ts';
import { carrierOf, workerCommand } from '../print-run.ts';
import { exitCodeOf } from '../run-end.ts';
import { warnOfRoot } from '../serve/as-root.ts';
import { openPayService } from '../serve/pay-service.ts';
import { stopWorker } from '../serve/stop-worker.ts';
import { STOPPING, unlessStopped } from '../stop.ts';
import { intakeOptionsOf } from './intake-options.ts';
import { fileCommand, handedInBefore, nextSteps } from './next-steps.ts';
import { describeProblems } from './problem-text.ts';
import { openProgress, type Progress } from './progress.ts';
import { reasonLines } from './reason-lines.ts';
import { openPatience, type Patiently, refuseSilentRedis, unlessRedisIsGone } from './redis-wait.ts';
import { prepareRehearsal, type RehearsalChoice, rehearsalSettings, rehearsalText } from './rehearsal.ts';
import { remarksOn, stagePlanOf, submitOptions } from './submit-options.ts';
import { openWaitLimit, type WaitLimit } from './wait-limit.ts';

const LOOK_EVERY_MS = 200;
/** What could not be told by then is told by whoever works on this ledger next. */
const NOTIFY_MS_MAX = 5000;

const REHEARSED = `must be one of ${REHEARSAL_NAMES.join(', ')}`;
const seed = z
  .string()
  .regex(/^[0-9]{1,9}$/, 'must be an integer of at most nine digits')
  .transform((text) => Number.parseInt(text, 10));
const options = {
  ...submitOptions,
  reportDir: ['<dir>', 'where the report is written', z.string().optional()],
  wait: ['<duration>', 'how long to wait for unknown payouts, and for a Redis that is away', duration, '15m'],
  as: ['<name>', 'who hands the file in', personName.optional()],
  json: 'print the run as JSON',
  rehearse: [
    '<mix>',
    `pay nobody, with faults of the simulated service: ${REHEARSAL_NAMES.join(', ')}`,
    z.enum(REHEARSAL_NAMES, REHEARSED).optional(),
  ],
  seed: ['<number>', 'seed of the faults of a rehearsal (default: 1)', seed.optional()],
  default: ['<file>', 'the payout file when none is named', z.string().optional()],
} as const;
type RunOptions = GivenOptions<typeof options>;

/** `payrun run FILE`: submit, pay, track and report in one process. */
export const runCommand = command(
  'run',
  {
    takes: { '[file]': 'the payout file' },
    options,
    examples: [
      'payrun run payouts.csv',
      'payrun run payouts.csv --skip-invalid --report-dir out',
      'payrun run payouts.csv --rehearse storm',
    ],
  },
  async ({ file, ...given }, at) => await runFile(file ?? given.default, given, at),
);

async function runFile(file: string | undefined, given: RunOptions, at: AtCrashPoint): Promise<ExitCode> {
  if (file === undefined) {
    throw new Refusal('No payout file is named.', 'payrun run FILE');
  }
  // Before a ledger is made for it.
  await requirePayoutFile(file);
  warnOfRoot();
  const rehearsal = rehearsalOf(given);
  const adapt = (config: Config): Config => (rehearsal === undefined ? config : rehearsalSettings(config, rehearsal));
  const progress = openProgress(systemClock, stderr());
  return await withApp(
    { logLevel: 'error', at, adapt, endsItself: true, report: (line) => progress.say(line) },
    async (app, stop) => {
      if (rehearsal !== undefined) {
        say(rehearsalText(rehearsal));
        await prepareRehearsal(app.config.dataDir, rehearsal, app);
      }
      tellOutages(app, { stop, progress, redisWaitMs: given.wait });
      const patiently = openPatience(app, { waitMs: given.wait, stop });
      const handingIn = patiently(() => handIn(app, file, { ...given, progress, stop }));
      const { early, submitted } = await unlessStopped(handingIn, stop).finally(() => progress.end());
      if (submitted.kind === 'refused') {
        await app.notifier.flush(AbortSignal.timeout(NOTIFY_MS_MAX));
        say(describeProblems(submitted.checked));
        if (given.json) printJson(problemsDocument(submitted.checked));
        return EXIT.fileRefused;
      }
      const { run, isNew } = submitted;
      for (const remark of remarksOn(submitted, { stages: stagePlanOf(given), maxCostDriftBp: given.maxCostDrift }))
        say(remark);
      say(isNew ? `run ${run.id}, ${run.rows} rows` : `this file is run ${run.id} of ${run.fileName} already`);
      return await unlessRedisIsGone(app, { ...progress, stop }, async () => {
        await payRun(app, run, { ...given, early, stop, progress, patiently });
        await patiently(() => tellHalt(app));
        progress.phase('writing the report');
        progress.end();
        const told = { ...given, carriesOn: carryingOn(app, file, given) };
        const code = await patiently(() => concludeRun(app, run.id, told)).catch((error: unknown) =>
          tellUnreported(error, stop),
        );
        if (!isNew && hasEnded(run)) say(handedInBefore(run, app.clock.now()));
        await app.notifier.flush(AbortSignal.timeout(NOTIFY_MS_MAX));
        if (!stop.aborted) return code;
        say(await interruptedText(app, run.id));
        return EXIT.interrupted;
      });
    },
  );
}

/**
 * What carries on with the run once this process has ended: the same file, taken and read as it was. Where a terminal cannot
 * show that as it has to be typed, any worker.
 */
function carryingOn(app: App, file: string, given: RunOptions): string {
  const { template, skipInvalid, reportDir, rehearse, seed: chosen } = given;
  const words = fileCommand('run', { file, template }, [
    ...(skipInvalid ? ['--skip-invalid'] : []),
    ...(reportDir === undefined ? [] : ['--report-dir', shellWord(reportDir)]),
    ...(rehearse === undefined ? [] : ['--rehearse', rehearse]),
    ...(chosen === undefined ? [] : ['--seed', String(chosen)]),
  ]);
  return isShownWhole(words) ? words : workerCommand(app);
}

/** A run that was interrupted says how far it is also where its report cannot be written. */
function tellUnreported(error: unknown, stop: AbortSignal): ExitCode {
  const refusal = stop.aborted && error instanceof Error ? systemRefusal(error) : undefined;
  if (refusal === undefined) throw error;
  say(safeText(`No report was written: ${refusal.message}\n${refusal.remedy}`));
  return EXIT.interrupted;
}

async function interruptedText(app: App, runId: string): Promise<string> {
  const run = await readRun(app, runId);
  const sent = `${countText(rowsSent(run))} of ${countText(run.rows)} rows were sent`;
  return `Interrupted; ${sent}. The same command carries on.`;
}

interface HandedIn {
  readonly submitted: Submitted;
  /** What the run is paid with, where rows were quoted before they were recorded. */
  readonly early: PayDeps | undefined;
}

/** Records the file as a run, or finds the one that it is. */
async function handIn(
  app: App<JobQueues>,
  path: string,
  { progress, stop, ...given }: RunOptions & { readonly progress: Progress; readonly stop: AbortSignal },
): Promise<HandedIn> {
  // Before anything is recorded that a worker with other settings would pay.
  await app.requireSafety();
  await requireReportFolder(given.reportDir ?? app.config.reportDir);
  const early = await openEarly(app, given);
  progress.phase('reading', safeText(path));
  const onRecording = (done: number, of: number): void => {
    // It is interrupted between two rows, and the line has ended.
    if (!stop.aborted) progress.phase('recording', `${countText(done)}/${countText(of)} rows`);
  };
  const submitted = await submitRun(
    { ...app, onRecording, previewCost: costPreviewOf(app.asker ?? early?.service, app) },
    {
      path,
      actor: actorOf(given.as),
      skipInvalid: given.skipInvalid,
      again: given.again,
      intake: await intakeOptionsOf(given),
      maxCostDriftBp: given.maxCostDrift,
      stages: stagePlanOf(given),
    },
  );
  return { submitted, early };
}

/** payrun's own sandbox is only there to be asked what rows cost once it is started. */
async function openEarly(app: App<JobQueues>, { maxCostDrift }: RunOptions): Promise<PayDeps | undefined> {
  if (maxCostDrift === undefined || app.asker !== undefined) return undefined;
  return await openPayService(app, { signal: new AbortController().signal, hasEnded: async () => false });
}

function rehearsalOf({ rehearse, seed: chosen }: RunOptions): RehearsalChoice | undefined {
  if (rehearse !== undefined) return { name: rehearse, seed: chosen ?? 1 };
  if (chosen === undefined) return undefined;
  throw new Refusal('--seed is for rehearsals.', 'Name a mix with --rehearse.');
}

async function tellHalt({ ledger }: App): Promise<void> {
  const { halt } = await ledger.state.read();
  if (halt === null) return;
  say(`Everything is halted: ${halt}`);
  say('Nothing is sent until two people release it: "payrun release --as NAME", then the same by another NAME.');
}

async function concludeRun(
  app: App<JobQueues>,
  runId: string,
  given: RunOptions & { readonly carriesOn: string },
): Promise<ExitCode> {
  const { summary, paths } = await writeReport(app, runId, given.reportDir);
  const run = await readRun(app, runId);
  const rehearsal = rehearsalOf(given);
  const rehearsed = rehearsal === undefined ? [] : [rehearsalText(rehearsal)];
  // The same command would end at once again, and look at none of them.
  const isLeftToSettle = hasEnded(run) && !maySettle(run, app.config.trackRatePerSecond);
  if (given.json) printJson({ ...(await documentOf(app, run)), reports: paths });
  else
    print(
      [
        ...rehearsed,
        summaryText(summary),
        ...nextSteps(run, {
          carriesOn: given.carriesOn,
          ...(isLeftToSettle ? { settles: await carrierOf(app, run) } : {}),
          ...(await reasonLines(app, run)),
        }),
        ...paths.map((path) => `report ${path}`),
      ].join('\n'),
    );
  return exitCodeOf({ state: run.state, outcomes: summary.outcomes, ties: summary.ties });
}

interface Paying {
  readonly early: PayDeps | undefined;
  readonly wait: number;
  readonly stop: AbortSignal;
  readonly progress: Progress;
  readonly patiently: Patiently;
}

/** Works until nothing more can be done for the run now, or until a signal ends it. */
async function payRun(app: App<JobQueues>, { id }: Run, paying: Paying): Promise<void> {
  const { early, wait, stop, progress, patiently } = paying;
  const isSettled = async (): Promise<boolean> => {
    const run = await patiently(() => readRun(app, id));
    progress.note(run);
    return hasEnded(run) && run.counts.accepted === 0;
  };
  try {
    if (await isSettled()) return;
    const deps = early ?? (await openPayService(app, { signal: stop, hasEnded: isSettled }));
    if (deps !== undefined) await workOn(app, deps, { runId: id, waitMs: wait, stop, progress, patiently });
  } finally {
    progress.end();
  }
}

interface Work {
  readonly runId: string;
  readonly waitMs: number;
  readonly stop: AbortSignal;
  readonly progress: Progress;
  readonly patiently: Patiently;
}

async function workOn(app: App<JobQueues>, deps: PayDeps, work: Work): Promise<void> {
  const fault = new AbortController();
  await work.patiently(() => requireSeason(deps));
  const worker = startWorker(app, deps, (error) => fault.abort(error));
  const ended = AbortSignal.any([work.stop, fault.signal]);
  try {
    await Promise.race([watchRun(app, work, ended), aborted(ended)]);
  } finally {
    if (work.stop.aborted) work.progress.say(STOPPING);
    await stopWorker(app, worker);
  }
  fault.signal.throwIfAborted();
  const run = await work.patiently(() => readRun(app, work.runId));
  if (hasEnded(run)) await work.patiently(() => lookUpDeadQuotes({ ...deps, ledger: app.ledger }, run));
}

/** Looks at the run until waiting any longer would not help. A Redis that is away is waited for as long as unknown payouts are. */
async function watchRun(app: App<JobQueues>, work: Work, ended: AbortSignal): Promise<void> {
  const waitLimit = openWaitLimit(app.clock, {
    unknownMs: work.waitMs,
    tracksPerSecond: app.config.trackRatePerSecond,
  });
  const tellLate = openLateTelling(app, (line) => work.progress.say(line));
  let answeredAt = app.clock.monotonic();
  while (!ended.aborted) {
    try {
      const run = await moveOn(app, work);
      if (await isWaitedFor(app, run, { ...work, waitLimit })) return;
      await tellLate(run);
      answeredAt = app.clock.monotonic();
    } catch (error) {
      if (error instanceof Refusal) throw error;
      if (app.clock.monotonic() - answeredAt > work.waitMs) throw refuseSilentRedis(work.waitMs, error);
    }
    await app.clock.sleep(LOOK_EVERY_MS, ended);
  }
}

async function moveOn(app: App<JobQueues>, { runId }: Work): Promise<Run> {
  await finishRun(app.ledger, runId);
  return await readRun(app, runId);
}

async function isWaitedFor(
  app: App<JobQueues>,
  run: Run,
  { progress, waitLimit }: Work & { readonly waitLimit: WaitLimit },
): Promise<boolean> {
  const isReached = waitLimit.isReached(run);
  progress.show(run, { isWaitedFor: !isReached });
  return isReached || (await app.ledger.state.read()).halt !== null;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
