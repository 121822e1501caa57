import { renderToString } from 'preact-render-to-string';
import { type Ending, endingWords } from '../../../jobs/cut-offs.ts';
import { stageText } from '../../config/stages.ts';
import type { Run } from '../../payout.ts';
import { runDocument } from '../../report/document.ts';
import { rowsDone, rowsTaken } from '../../runs/progress.ts';
import type { Zone } from '../../zone.ts';
import { Badge } from '../parts/badge.tsx';
import { counted, shownCount } from '../parts/figures.ts';
import { OutcomeBar } from '../parts/outcome-bar.tsx';
import { Time, WithTimes, ZoneContext } from '../parts/time.tsx';
import { TotalsTable } from '../parts/totals-table.tsx';
import type { Rates } from './rates.ts';
import { MoneyCard, TieCard } from './run-cards.tsx';
import { RunCharts } from './run-charts.tsx';
import { runStatus } from './run-status.ts';
import { hasSums, type RunSums } from './run-sums.ts';

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;

export interface ProgressProps {
  readonly run: Run;
  /** Null: not known yet, or it is not being paid. */
  readonly perSecond: number | null;
  /** Whether nobody seems to pay it. */
  readonly isStuck: boolean;
  /** Whether everything is halted, so that nothing of it is sent. */
  readonly isHalted: boolean;
  /** Null until they are there. */
  readonly sums: RunSums | null;
  /** When it will have been sent, for people; null where that is not known. */
  readonly ending: string | null;
}

/** How far a run is: what live progress replaces, from the run's own counters. */
export function ProgressPart({ run, perSecond, isStuck, isHalted, sums, ending }: ProgressProps) {
  const { outcomes, totals, file } = runDocument(run, { sandbox: false, capabilities: {}, reports: [] });
  const { tone, words } = runStatus(run);
  const done = doneWords(run, isHalted ? ' · everything is halted' : rateWords(run, perSecond));
  return (
    <div
      class="run-progress-part"
      data-state={run.state}
      data-parts={partsKey(run, sums)}
      data-words={`${words}. ${done}`}
    >
      <p>
        <Badge tone={tone}>{words}</Badge> <StateReason run={run} />
      </p>
      {isStuck ? (
        <p class="problem">
          Nobody has paid anything of this run for half a minute, although {shownCount(run.counts.ready)} of its rows
          are due. It loses nothing by that; but if it stays so, tell whoever runs payrun: perhaps no worker is running,
          or the service does not answer.
        </p>
      ) : null}
      <div class="cards">
        <MoneyCard run={run} sums={sums} isAdding={isAdding(run, sums)} />
        <div class="card card-body">
          <h2 class="label">Rows</h2>
          <p class="figure">{shownCount(run.rows)}</p>
          <OutcomeBar outcomes={outcomes} hrefOf={(outcome) => `/runs/${run.id}/payouts?outcome=${outcome}`} />
          <p class="hint">{done}</p>
          {ending === null || isHalted ? null : (
            <p class="hint">
              <WithTimes text={ending} />
            </p>
          )}
        </div>
        <TieCard run={run} />
      </div>
      {sums === null ? null : <RunCharts run={run} sums={sums} />}
      <TotalsTable outcomes={outcomes} totals={totals} file={file} />
      <p>
        <a href={`/runs/${run.id}/outcomes.csv`}>Outcomes as CSV</a> ·{' '}
        <a href={`/runs/${run.id}/tie.csv`}>The file against the ledger as CSV</a>
      </p>
    </div>
  );
}

/** What is known of runs beside their records. */
export interface ProgressSources {
  readonly rates: Rates;
  readonly sumsOf: (run: Run) => Promise<RunSums | null>;
  readonly endingOf: (run: Run) => Promise<Ending | null>;
  readonly isHalted: () => Promise<boolean>;
  readonly zone: Zone;
}

/** What is shown of a run at this moment. */
export async function readProgress(sources: ProgressSources, run: Run): Promise<ProgressProps> {
  const [sums, isHalted, ending] = await Promise.all([sources.sumsOf(run), sources.isHalted(), sources.endingOf(run)]);
  return progressOf(sources.rates, run, { sums, isHalted, ending: ending && endingWords(ending) });
}

/** Whether sums of the run as it is now are still to come. */
export function isAdding(run: Run, sums: RunSums | null): boolean {
  return hasSums(run) && sums?.changes !== run.changes;
}

/** What buttons and reports beside the progress depend on. */
function partsKey({ state, counts, reportHashes }: Run, sums: RunSums | null): string {
  return `${state} ${counts.held} ${reportHashes.length} ${sums?.retryRows ?? ''}`;
}

/** The same where the rest is known. What stands still for a halt is as fast as it goes after that. */
export function progressOf(
  rates: Rates,
  run: Run,
  known: Pick<ProgressProps, 'sums' | 'isHalted' | 'ending'> = { sums: null, isHalted: false, ending: null },
): ProgressProps {
  const going = known.isHalted && run.state === 'paying' ? { ...run, state: 'paused' as const } : run;
  return { run, perSecond: rates.note(going), isStuck: rates.isStuck(going), ...known };
}

/** The same as it is sent while somebody looks on. */
export function progressHtml(props: ProgressProps, zone: Zone | null): string {
  return renderToString(
    <ZoneContext.Provider value={zone}>
      <ProgressPart {...props} />
    </ZoneContext.Provider>,
  );
}

function StateReason({ run: { state, pauseReason, startAt, finishedAt, stages } }: { run: Run }) {
  if (pauseReason !== null) {
    return (
      <>
        {pauseReason}
        {typeof startAt === 'number' ? (
          <>
            {' '}
            (starts by itself: <Time at={startAt} />)
          </>
        ) : null}
      </>
    );
  }
  if (state === 'paying' && stages !== null) return <>{stageText(stages)}</>;
  if (state === 'awaiting-approval') return <>waits for another person to approve it</>;
  return finishedAt === null ? null : <Time at={finishedAt} />;
}

/** Nothing is said to be done of what nobody has begun to pay. */
function doneWords(run: Run, pace: string): string {
  if (run.state === 'recording' || run.state === 'awaiting-approval') return counted(run.rows, 'row');
  return `${shownCount(rowsDone(run))} of ${counted(run.rows, 'row')} done${run.state === 'paying' ? pace : ''}`;
}

function rateWords(run: Run, perSecond: number | null): string {
  if (perSecond === null) return '';
  if (perSecond === 0) return ' · none in the last seconds';
  const left = run.rows - rowsTaken(run);
  const rate = perSecond < 10 ? perSecond.toFixed(1) : shownCount(Math.round(perSecond));
  return ` · ${rate} payouts/s${left > 0 ? ` · about ${leftWords(left / perSecond)} left` : ''}`;
}

function leftWords(seconds: number): string {
  if (seconds < MINUTE_S) return `${Math.ceil(seconds)} s`;
  return seconds < HOUR_S ? `${Math.ceil(seconds / MINUTE_S)} min` : `${(seconds / HOUR_S).toFixed(1)} h`;
}
