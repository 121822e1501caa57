import { renderToString } from 'preact-render-to-string';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { Run } from '../../payout.ts';
import { runDocument } from '../../report/document.ts';
import { rowsDone, rowsTaken } from '../../runs/progress.ts';
import type { Zone } from '../../schedules/zone.ts';
import { Badge } from '../parts/badge.tsx';
import { shownAmountsIn, shownCount } from '../parts/figures.ts';
import { OutcomeBar } from '../parts/outcome-bar.tsx';
import { reasonWords } from '../parts/outcome-words.ts';
import { Table } from '../parts/table.tsx';
import { Time, ZoneContext } from '../parts/time.tsx';
import { TotalsTable } from '../parts/totals-table.tsx';
import type { EndedRun } from './ended-run.ts';
import type { Rates } from './rates.ts';
import { MoneyCard, TieCard } from './run-cards.tsx';
import { runStatus } from './run-status.ts';

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;

export interface ProgressProps {
  readonly run: Run;
  /** Null: not known yet, or it is not being paid. */
  readonly perSecond: number | null;
  /** Whether nobody seems to pay it. */
  readonly isStuck: boolean;
  /** Null while it goes on, and where it has too many rows. */
  readonly ended: EndedRun | null;
}

/** How far a run is: what live progress replaces, from the run's own counters. */
export function ProgressPart({ run, perSecond, isStuck, ended }: ProgressProps) {
  const { outcomes, totals, file } = runDocument(run, { sandbox: false, capabilities: {}, reports: [] });
  const { tone, words } = runStatus(run);
  return (
    <div class="run-progress-part" data-state={run.state} data-words={progressWords(run, perSecond)}>
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
        <MoneyCard run={run} ended={ended} />
        <div class="card card-body">
          <h2 class="label">Rows</h2>
          <p class="figure">{shownCount(run.rows)}</p>
          <OutcomeBar outcomes={outcomes} hrefOf={(outcome) => `/runs/${run.id}/payouts?outcome=${outcome}`} />
          <p class="hint">{doneWords(run, perSecond)}</p>
        </div>
        <TieCard run={run} />
      </div>
      {ended === null || ended.reasons.length === 0 ? null : <Reasons run={run} reasons={ended.reasons} />}
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
  readonly endedOf: (run: Run) => Promise<EndedRun | null>;
  readonly zone: Zone;
}

/** What is shown of a run at this moment. */
export function progressOf(rates: Rates, run: Run, ended: EndedRun | null = null): ProgressProps {
  return { run, perSecond: rates.note(run), isStuck: rates.isStuck(run), ended };
}

/** The same as it is sent while somebody looks on. */
export function progressHtml(props: ProgressProps, zone: Zone | null): string {
  return renderToString(
    <ZoneContext.Provider value={zone}>
      <ProgressPart {...props} />
    </ZoneContext.Provider>,
  );
}

function StateReason({ run: { state, pauseReason, startAt, finishedAt } }: { run: Run }) {
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
  if (state === 'awaiting-approval') return <>waits for another person to approve it</>;
  return finishedAt === null ? null : <Time at={finishedAt} />;
}

function Reasons({ run, reasons }: { run: Run; reasons: EndedRun['reasons'] }) {
  return (
    <Table caption="Why rows were not paid, or wait for a person" columns={['Reason', 'Rows are', { number: 'Rows' }]}>
      {reasons.slice(0, REASONS_MAX).map(({ code, words, isHeld, rows }) => (
        <tr key={`${code} ${String(isHeld)}`}>
          <td>
            {reasonWords(code) ?? escapeUnseen(shownAmountsIn(words))}{' '}
            <span class="small">{code === words ? '' : escapeUnseen(code)}</span>
          </td>
          <td>{isHeld ? <a href={`/runs/${run.id}/payouts?outcome=held`}>held for a person</a> : 'not paid'}</td>
          <td class="number">{shownCount(rows)}</td>
        </tr>
      ))}
    </Table>
  );
}

const REASONS_MAX = 8;

/** In one sentence, for who listens instead of looking. */
function progressWords(run: Run, perSecond: number | null): string {
  return `${runStatus(run).words}. ${doneWords(run, perSecond)}`;
}

/** Nothing is said to be done of what nobody has begun to pay. */
function doneWords(run: Run, perSecond: number | null): string {
  if (run.state === 'recording' || run.state === 'awaiting-approval') return `${shownCount(run.rows)} rows`;
  return `${shownCount(rowsDone(run))} of ${shownCount(run.rows)} rows done${rateWords(run, perSecond)}`;
}

function rateWords(run: Run, perSecond: number | null): string {
  if (run.state !== 'paying' || perSecond === null) return '';
  if (perSecond === 0) return ' · none in the last seconds';
  const left = run.rows - rowsTaken(run);
  const rate = perSecond < 10 ? perSecond.toFixed(1) : shownCount(Math.round(perSecond));
  return ` · ${rate} payouts/s${left > 0 ? ` · about ${leftWords(left / perSecond)} left` : ''}`;
}

function leftWords(seconds: number): string {
  if (seconds < MINUTE_S) return `${Math.ceil(seconds)} s`;
  return seconds < HOUR_S ? `${Math.ceil(seconds / MINUTE_S)} min` : `${(seconds / HOUR_S).toFixed(1)} h`;
}
