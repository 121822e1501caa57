import type { App } from '../../app.ts';
import { rfc3339 } from '../../clock.ts';
import type { Run, RunState } from '../../payout.ts';
import { isRedisLoss } from '../../redis/loss.ts';
import { documentOf } from '../../runs/document.ts';
import { NO_WORKER, outagesDocument, outageText } from '../../runs/outages.ts';
import { rowsTaken, type Sample, steadyRateOf, withMove, workOf, workWords } from '../../runs/progress.ts';
import { readRun } from '../../runs/read-run.ts';
import { isSending } from '../../schedules/forecast.ts';
import { columnsLine } from '../columns.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { print, printJson, say } from '../print.ts';
import { carrierOf } from '../print-run.ts';
import { progressLine } from '../run/progress.ts';
import { exitCodeOf } from '../run-end.ts';
import { openLateTelling } from './late.ts';
import { tellOutages } from './outages.ts';
import { tellHalt } from './status.ts';

const LOOK_EVERY_MS = 250;
/** In these nothing changes any more, or not before a person has acted. */
const ENDS: readonly RunState[] = ['finished', 'cancelled', 'paused', 'awaiting-approval'];

/** Whoever only looks on knows of no service, and notes no disk. */
const REDIS_ALONE = {
  answering: { away: () => null, hasAnswered: () => true },
  freeBytes: async () => Number.POSITIVE_INFINITY,
  intentRoom: { folder: '', isThere: async () => true, fault: () => undefined },
};

/** `payrun watch`: a line for each change of a run until it is over or stopped. */
export const watchCommand = ledgerCommand(
  'watch',
  {
    endsItself: true,
    takes: { '<run>': 'the run' },
    options: { json: 'print the run as one JSON document a line' },
    examples: ['payrun watch 20260131-k3f9xq', 'payrun watch 20260131-k3f9xq --json'],
  },
  (app, { run, json }, stop) => watch(app, run, { json, stop }),
);

interface Watching {
  readonly json: boolean;
  readonly stop: AbortSignal;
}

async function watch(app: App, runId: string, options: Watching): Promise<ExitCode> {
  let seen: Run | undefined;
  let samples: readonly Sample[] = [];
  let isAway = false;
  const progress = (): string => (seen === undefined ? '' : workWords(workOf([seen])));
  const tellNoted = openOutageTelling(app, progress);
  const tellLate = openLateTelling(app, say);
  tellOutages(
    { ...app, ...REDIS_ALONE },
    {
      stop: options.stop,
      progress: {
        say,
        sentence: progress,
        setAway(what) {
          isAway = what.length > 0;
        },
      },
    },
  );

  /** The exit code, once there is no more to see. */
  async function look(): Promise<ExitCode | undefined> {
    const run = await readRun(app, runId);
    samples = withMove(samples, run, { atMs: app.clock.monotonic(), isCut: isAway });
    if (run.changes !== seen?.changes) await printChange(app, run, { ...options, samples });
    seen = run;
    await tellNoted(run);
    await tellLate(run);
    // Whoever read the lines has seen enough of them.
    if (!process.stdout.writable) return EXIT.ok;
    return ENDS.includes(run.state) || (await tellHalt(app)) ? await endOf(app, run) : undefined;
  }

  while (!options.stop.aborted) {
    const code = await look().catch((error: unknown) => {
      // It is told, and waited for.
      if (seen === undefined || !isRedisLoss(error)) throw error;
      return undefined;
    });
    if (code !== undefined) return code;
    await app.clock.sleep(LOOK_EVERY_MS, options.stop);
  }
  return EXIT.interrupted;
}

/** Says what workers see to be away, once for each outage that begins. */
function openOutageTelling(app: App, progress: () => string): (run: Run) => Promise<void> {
  let told = new Set<string>();
  return async (run) => {
    const seen = await app.ledger.outages.read();
    for (const outage of seen) {
      if (!told.has(outage.what)) say(outageText(outage, { now: app.clock.now(), work: progress() }));
    }
    const isUnmanned = isSending(run) && (await app.jobs.workers()).length === 0;
    if (isUnmanned && !told.has('workers')) say(`${NO_WORKER} ${progress()} Start one: ${await carrierOf(app, run)}`);
    told = new Set([...seen.map(({ what }) => what), ...(isUnmanned ? ['workers'] : [])]);
  };
}

interface Shown {
  readonly json: boolean;
  readonly samples: readonly Sample[];
}

async function printChange(app: App, run: Run, { json, samples }: Shown): Promise<void> {
  if (json) return printJson({ ...(await documentOf(app, run)), outages: await outagesDocument(app) });
  const progress = progressLine(run, { done: rowsTaken(run), perSecond: steadyRateOf(samples) });
  print(columnsLine([rfc3339(app.clock.now()), progress, run.pauseReason ?? ''], { widths: [] }));
}

async function endOf(app: App, run: Run): Promise<ExitCode> {
  const { outcomes } = await documentOf(app, run);
  return exitCodeOf({ state: run.state, outcomes, ties: true });
}
