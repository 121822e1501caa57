import { renderToString } from 'preact-render-to-string';
import type { Run } from '../../payout.ts';
import { runDocument } from '../../report/document.ts';
import { fileTotals, sumOutcomes } from '../../report/totals.ts';
import { doCountersTie, rowsCounted, rowsDone } from '../../runs/progress.ts';
import { shownAmount, shownCount } from '../parts/figures.ts';
import { OutcomeBar } from '../parts/outcome-bar.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { TotalsTable } from '../parts/totals-table.tsx';
import type { Rates } from './rates.ts';

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;

export interface ProgressProps {
  readonly run: Run;
  /** Null: not known yet. */
  readonly perSecond: number | null;
  /** Whether nobody seems to pay it. */
  readonly isStuck: boolean;
}

/** How far a run is: what live progress replaces, from the run's own counters. */
export function ProgressPart({ run, perSecond, isStuck }: ProgressProps) {
  const { outcomes, totals, file } = runDocument(run, { sandbox: false, capabilities: {}, reports: [] });
  const done = rowsDone(run);
  return (
    <div class="progress" data-state={run.state} data-words={progressWords(run, perSecond)}>
      <p>
        <span class={`state ${run.state}`}>{run.state}</span> <StateReason run={run} />
      </p>
      <p class="progress-bar">
        <progress max={Math.max(1, run.rows)} value={done} aria-label="Rows done" /> {shownCount(done)} of{' '}
        {shownCount(run.rows)} rows done
        {rateWords(run, perSecond)}
      </p>
      {isStuck ? (
        <p class="problem">
          Nobody has paid anything of this run for half a minute, although {shownCount(run.counts.ready)} of its rows
          are due. It loses nothing by that; but if it stays so, tell whoever runs payrun: perhaps no worker is running,
          or the service does not answer.
        </p>
      ) : null}
      <OutcomeBar outcomes={outcomes} hrefOf={(outcome) => `/runs/${run.id}/payouts?outcome=${outcome}`} />
      <TotalsTable outcomes={outcomes} totals={totals} file={file} />
      <TieTable run={run} />
      <p>
        <a href={`/runs/${run.id}/outcomes.csv`}>Outcomes as CSV</a> ·{' '}
        <a href={`/runs/${run.id}/tie.csv`}>The file against the ledger as CSV</a>
      </p>
    </div>
  );
}

/** What is shown of a run at this moment. */
export function progressOf(rates: Rates, run: Run): ProgressProps {
  return { run, perSecond: rates.note(run), isStuck: rates.isStuck(run) };
}

/** The same as it is sent while somebody looks on. */
export function progressHtml(props: ProgressProps): string {
  return renderToString(<ProgressPart {...props} />);
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

/** Each currency's total in the file against what the outcomes of its rows add up to (architecture.md, rule 10). */
function TieTable({ run }: { run: Run }) {
  const counted = rowsCounted(run);
  const rows = [
    { what: 'Rows', file: shownCount(run.rows), computed: shownCount(counted), ties: counted === run.rows },
    ...fileTotals(run.fileTotals, run.amounts).map(({ currency, file, outcomes }) => {
      const minor = sumOutcomes(outcomes);
      const texts = {
        file: shownAmount({ minor: file, currency }),
        computed: shownAmount({ minor, currency }),
      };
      return { what: currency, ...texts, ties: minor === file };
    }),
  ];
  return (
    <Table
      caption={
        doCountersTie(run)
          ? 'The file against the ledger: it ties'
          : run.state === 'recording'
            ? 'The file against the ledger: its rows are still being recorded'
            : 'The file against the ledger: IT DOES NOT TIE. Book nothing from this run, and tell whoever runs payrun'
      }
      columns={['Currency', { number: 'In the file' }, { number: 'Computed' }, 'Ties']}
      class="ties"
    >
      {rows.map(({ what, file, computed, ties }) => (
        <tr key={what}>
          <th scope="row">{what}</th>
          <td class="number">{file}</td>
          <td class="number">{computed}</td>
          <td>{ties ? 'yes' : 'no'}</td>
        </tr>
      ))}
    </Table>
  );
}

/** In one sentence, for who listens instead of looking. */
function progressWords(run: Run, perSecond: number | null): string {
  return `${run.state}: ${shownCount(rowsDone(run))} of ${shownCount(run.rows)} rows done${rateWords(run, perSecond)}`;
}

function rateWords(run: Run, perSecond: number | null): string {
  if (run.state !== 'paying' || perSecond === null) return '';
  if (perSecond === 0) return ' · none in the last seconds';
  const left = run.rows - rowsDone(run);
  const rate = perSecond < 10 ? perSecond.toFixed(1) : shownCount(Math.round(perSecond));
  return ` · ${rate} payouts/s${left > 0 ? ` · about ${leftWords(left / perSecond)} left` : ''}`;
}

function leftWords(seconds: number): string {
  if (seconds < MINUTE_S) return `${Math.ceil(seconds)} s`;
  return seconds < HOUR_S ? `${Math.ceil(seconds / MINUTE_S)} min` : `${(seconds / HOUR_S).toFixed(1)} h`;
}
