import type { Jobs } from '../src/app.ts';
import { type Clock, rfc3339 } from '../src/clock.ts';
import type { Config } from '../src/config/config.ts';
import type { Ledger } from '../src/ledger/ledger.ts';
import type { Log } from '../src/log.ts';
import type { Notifier } from '../src/notify/notifier.ts';
import { rateNow } from '../src/pay/shared-rate.ts';
import type { Run } from '../src/payout.ts';
import { notedRateOf } from '../src/runs/progress.ts';
import { foreseeEnd, foreseeLate, isSending, type LateRun, lateRun } from '../src/schedules/forecast.ts';

/** What a look at cut-offs needs of a process. */
interface CutOffDeps {
  readonly app: {
    readonly config: Pick<Config, 'calendars' | 'ratePerSecond' | 'ratePerSecondMin'>;
    readonly ledger: Pick<Ledger, 'runs' | 'state' | 'outages'>;
    readonly notifier: Pick<Notifier, 'announceLate'>;
    readonly clock: Clock;
    readonly log: Log;
  };
}

/** It is told once for each cut-off, and none is further away. */
const TOLD_MS = 24 * 60 * 60 * 1000;

type Foresight = Pick<CutOffDeps['app'], 'config' | 'ledger' | 'clock'>;

interface Foreseen {
  /** The rate of now; undefined where it is not limited. Without one nothing can be foreseen. */
  readonly perSecond: number | undefined;
  /** Those that are not over. */
  readonly runs: readonly Run[];
  /** Of them those that will miss a cut-off. */
  readonly late: readonly LateRun[];
}

/** What can be foreseen of the runs that are there. */
export async function foresee(app: Foresight): Promise<Foreseen> {
  const { perSecond, runs } = await readPace(app);
  const { calendars } = app.config;
  const late = perSecond === undefined ? [] : foreseeLate(runs, { calendars, perSecond, nowMs: app.clock.now() });
  return { perSecond, runs, late };
}

async function readPace({ config, ledger }: Foresight): Promise<Pick<Foreseen, 'perSecond' | 'runs'>> {
  const perSecond = await rateNow(ledger.state, config);
  if (perSecond === undefined) return { perSecond, runs: [] };
  const read = await Promise.all((await ledger.runs.live()).map((runId) => ledger.runs.read(runId)));
  return { perSecond, runs: read.filter((run) => run !== undefined) };
}

/** When a run will have been sent. */
export interface Ending {
  /** In milliseconds since 1970. */
  readonly at: number;
  /** The slower one of what was measured and of what all runs share. */
  readonly perSecond: number;
  readonly isMeasured: boolean;
  /** By how much it misses a cut-off, for people; null where it misses none. */
  readonly missed: string | null;
}

/** When a run will have been sent; null where neither rate is known, nothing waits, or nothing of it moves now. */
export async function endingOf(
  app: Foresight & { readonly jobs: Pick<Jobs, 'workers'> },
  run: Run,
): Promise<Ending | null> {
  const nowMs = app.clock.now();
  const measured = notedRateOf(run, nowMs);
  if (!isSending(run) || measured === 0 || (await app.ledger.outages.read()).length > 0) return null;
  if ((await app.jobs.workers()).length === 0) return null;
  const { perSecond: shared, runs } = await readPace(app);
  const atShared = shared === undefined ? 0 : foreseeEnd(run, runs, { perSecond: shared, nowMs });
  const atMeasured = measured === null ? 0 : nowMs + (run.counts.ready * 1000) / measured;
  const at = Math.ceil(Math.max(atShared, atMeasured));
  if (at === 0) return null;
  const isMeasured = atMeasured > atShared;
  const missed = lateRun(run, { calendars: app.config.calendars, nowMs, endsAt: at })?.words ?? null;
  return { at, perSecond: (isMeasured ? measured : shared) ?? 0, isMeasured, missed };
}

/** As JSON. */
export function endingDocument(ending: Ending | null) {
  return ending === null ? null : { ...ending, at: rfc3339(ending.at) };
}

/** A sentence: such as `Ends about 2026-01-31T16:12Z at 45 payments a second, as measured; it will miss the 16:00 cut-off …`. */
export function endingWords({ at, perSecond, isMeasured, missed }: Ending): string {
  const rate = Number(perSecond < 10 ? perSecond.toPrecision(2) : perSecond.toFixed(0));
  const when = `${rfc3339(at).slice(0, 'YYYY-MM-DDTHH:MM'.length)}Z`;
  const words = `Ends about ${when} at ${rate} ${rate === 1 ? 'payment' : 'payments'} a second${isMeasured ? ', as measured' : ''}`;
  return missed === null ? `${words}.` : `${words}; it ${missed}.`;
}

/** Warns of runs that will miss a cut-off. */
export async function warnOfCutOffs({ app }: CutOffDeps): Promise<void> {
  const { ledger, log, notifier } = app;
  for (const { run, cutOffAt, words } of (await foresee(app)).late) {
    if (!(await ledger.state.takeTurn(`cut-off:${run.id}:${cutOffAt}`, TOLD_MS))) continue;
    log.warn(`a run ${words}`, { run: run.id });
    await notifier.announceLate(run, words);
  }
}
