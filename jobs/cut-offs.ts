import type { Clock } from '../src/clock.ts';
import type { Config } from '../src/config/config.ts';
import type { Ledger } from '../src/ledger/ledger.ts';
import type { Log } from '../src/log.ts';
import type { Notifier } from '../src/notify/notifier.ts';
import { rateNow } from '../src/pay/shared-rate.ts';
import { foreseeLate, type LateRun } from '../src/schedules/forecast.ts';

/** What a look at cut-offs needs of a process. */
interface CutOffDeps {
  readonly app: {
    readonly config: Pick<Config, 'calendars' | 'ratePerSecond' | 'ratePerSecondMin'>;
    readonly ledger: Pick<Ledger, 'runs' | 'state'>;
    readonly notifier: Pick<Notifier, 'announceLate'>;
    readonly clock: Clock;
    readonly log: Log;
  };
}

/** It is told once for each cut-off, and none is further away. */
const TOLD_MS = 24 * 60 * 60 * 1000;

type Foresight = Pick<CutOffDeps['app'], 'config' | 'ledger' | 'clock'>;

/**
 * The rate of now, undefined where it is not limited, and the runs that will miss a cut-off at it. Without one nothing can be
 * foreseen.
 */
export async function foresee({
  config,
  ledger,
  clock,
}: Foresight): Promise<{ perSecond: number | undefined; late: readonly LateRun[] }> {
  const { calendars } = config;
  const perSecond = await rateNow(ledger.state, config);
  if (perSecond === undefined || Object.keys(calendars).length === 0) return { perSecond, late: [] };
  const read = await Promise.all((await ledger.runs.live()).map((runId) => ledger.runs.read(runId)));
  const runs = read.filter((run) => run !== undefined);
  return { perSecond, late: foreseeLate(runs, { calendars, perSecond, nowMs: clock.now() }) };
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
