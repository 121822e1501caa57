import { type Clock, rfc3339 } from '../../clock.ts';
import type { Calendars } from '../../config/calendars.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Run, RunStart } from '../../payout.ts';
import { Refusal, withSteps } from '../../refusal.ts';
import { type CurrencyHours, hoursOf, openingOf } from '../../schedules/calendar.ts';

/** What decides when a run may start. */
export interface StartRules {
  /** Banking days and cut-off times per currency; none where nobody set them. */
  readonly calendars?: Calendars | undefined;
  /** Payments a second over all workers; undefined: as fast as the service is. */
  readonly ratePerSecond?: number | undefined;
}

export interface StartDeps {
  readonly ledger: Pick<Ledger, 'runs' | 'state'>;
  readonly config: StartRules;
  readonly clock: Clock;
  readonly wake: (runId: string) => Promise<void>;
}

/** What a run waits for before anything of it is paid. */
export interface Waiting {
  readonly at: RunStart;
  /** For people. */
  readonly reason: string;
}

const SECOND_MS = 1000;

/**
 * Why a run must not start now, and when it may: the time it was given has not come, or one of its currencies would be past
 * its cut-off before the run's last payment has left. Undefined when it may start.
 */
export function waitingFor(
  { config, clock }: Pick<StartDeps, 'config' | 'clock'>,
  { rows, currencies }: Pick<Run, 'rows' | 'currencies'>,
  startAt?: RunStart,
): Waiting | undefined {
  if (startAt === 'schedule') return { at: startAt, reason: 'it waits for the next schedule that starts runs' };
  const nowMs = clock.now();
  if (startAt !== undefined && startAt > nowMs) return { at: startAt, reason: `it starts at ${rfc3339(startAt)}` };
  const opening = openingOf(config.calendars ?? {}, { currencies, nowMs, takesMs: takesMs(config, rows) });
  return opening.open ? undefined : { at: opening.opensAt, reason: opening.reason };
}

/** The same by the clock that is behind: that of this host, or that of Redis. */
export async function startOf(
  { ledger, config, clock }: Pick<StartDeps, 'ledger' | 'config' | 'clock'>,
  run: Run,
  startAt?: RunStart,
): Promise<Waiting | undefined> {
  const nowMs = Math.min(clock.now(), await ledger.state.now());
  return waitingFor({ config, clock: { ...clock, now: () => nowMs } }, run, startAt);
}

/** How each currency of a run stands that would start now. */
export function hoursAhead(
  { config, clock }: Pick<StartDeps, 'config' | 'clock'>,
  { rows, currencies }: Pick<Run, 'rows' | 'currencies'>,
): CurrencyHours[] {
  return hoursOf(config.calendars ?? {}, { currencies, nowMs: clock.now(), takesMs: takesMs(config, rows) });
}

function takesMs({ ratePerSecond }: StartRules, rows: number): number {
  return ratePerSecond === undefined ? 0 : Math.ceil((rows * SECOND_MS) / ratePerSecond);
}

/**
 * Starts a run whose time has come, or puts it off where a cut-off stands against it. Does nothing with a run that is not
 * waiting. `tick`: a schedule that starts runs has come.
 */
export async function startRun(deps: StartDeps, run: Run, tick = false): Promise<void> {
  const { startAt } = run;
  if (run.state !== 'paused' || startAt === null) return;
  if (startAt === 'schedule' ? !tick : startAt > deps.clock.now()) return;
  const waiting = waitingFor(deps, run);
  if (waiting !== undefined) {
    if (waiting.reason !== run.pauseReason) await deps.ledger.runs.putOffStart(run.id, waiting);
    return;
  }
  const reason = tick ? 'a schedule started it' : 'its time has come';
  await deps.ledger.runs.move(run.id, { from: 'waiting', to: 'paying', actor: 'payrun', reason });
  await deps.wake(run.id);
}

/**
 * Starts the runs that waited for a schedule when its time came, in milliseconds since 1970: the tick may be late. Throws a Refusal
 * (unavailable) while everything is halted: the tick is done once people have released the halt.
 */
export async function startWaitingRuns(deps: StartDeps, plannedMs: number): Promise<void> {
  if ((await deps.ledger.state.read()).halt !== null) {
    const next = withSteps`Two people release the halt first: ${{ to: 'release' }}.`;
    throw new Refusal('Everything is halted: no run was started.', next, { kind: 'unavailable' });
  }
  for (const runId of await deps.ledger.runs.live()) {
    const run = await deps.ledger.runs.read(runId);
    if (run !== undefined && waitsSince(run) <= plannedMs) await startRun(deps, run, true);
  }
}

/** Since when a run may be started, in milliseconds since 1970 of Redis's clock. */
function waitsSince({ createdAt, recordedAt, approvals }: Run): number {
  return Math.max(createdAt, recordedAt ?? 0, ...approvals.map(({ at }) => at));
}
