import { type Clock, rfc3339 } from '../src/clock.ts';
import type { Config } from '../src/config/config.ts';
import type { Ledger } from '../src/ledger/ledger.ts';
import type { Log } from '../src/log.ts';
import type { Notifier } from '../src/notify/notifier.ts';
import { rateNow } from '../src/pay/shared-rate.ts';
import type { Run } from '../src/payout.ts';
import { foreseeEnd, foreseeLate, isSending, type LateRun } from '../src/schedules/forecast.ts';

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

interface Foreseen {
  /** The rate of now; undefined where it is not limited. Without one nothing can be foreseen. */
  readonly perSecond: number | undefined;
  /** Those that are not over. */
  readonly runs: readonly Run[];
  /** Of them those that will miss a cut-off. */
  readonly late: readonly LateRun[];
}

/** What can be foreseen of the runs that are there. */
export async function foresee({ config, ledger, clock }: Foresight): Promise<Foreseen> {
  const { calendars } = config;
  const perSecond = await rateNow(ledger.state, config);
  if (perSecond === undefined) return { perSecond, runs: [], late: [] };
  const read = await Promise.all((await ledger.runs.live()).map((runId) => ledger.runs.read(runId)));
  const runs = read.filter((run) => run !== undefined);
  return { perSecond, runs, late: foreseeLate(runs, { calendars, perSecond, nowMs: clock.now() }) };
}

/** When a run will have been sent, and by how much it misses a cut-off; undefined where the rate is not limited, or nothing waits. */
export async function endingWords(app: Foresight, run: Run): Promise<string | undefined> {
  if (!isSending(run)) return undefined;
  const { perSecond, late, runs } = await foresee(app);
  if (perSecond === undefined) return undefined;
  const endsAt = foreseeEnd(run, runs, { perSecond, nowMs: app.clock.now() });
  const words = `Ends about ${rfc3339(endsAt).slice(0, 'YYYY-MM-DDTHH:MM'.length)}Z at ${Math.round(perSecond)} payments a second`;
  const missed = late.find((one) => one.run.id === run.id);
  return missed === undefined ? `${words}.` : `${words}; it ${missed.words}.`;
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
