import type { ComponentChildren } from 'preact';
import type { Money } from '../../money.ts';
import type { Run } from '../../payout.ts';
import { fileTotals } from '../../report/totals.ts';
import { May } from '../may.tsx';
import type { Tone } from '../parts/badge.tsx';
import { counted, shownCount } from '../parts/figures.ts';
import { Icon, type IconName } from '../parts/icon.tsx';
import { Amount } from '../parts/money.tsx';
import { Time } from '../parts/time.tsx';
import { RunsTable } from '../runs/runs-table.tsx';
import type { Waiting } from '../waiting.ts';
import type { Person } from '../web.ts';
import { DayChart } from './day-chart.tsx';
import type { Day } from './days.ts';
import type { Unpaid } from './unpaid.ts';

const RUNS_SHOWN = 10;

interface TodayProps {
  /** The newest first. */
  readonly runs: readonly Run[];
  readonly who: Person;
  readonly waiting: Waiting;
  readonly days: readonly Day[];
  /** Runs with rows that came to be not paid since yesterday. */
  readonly unpaid: readonly Unpaid[];
  /** Files that were refused in the inboxes of this machine. */
  readonly refusedFiles: number;
}

/** What waits for somebody, what is going on, and what was done lately. */
export function TodayPage(props: TodayProps) {
  const { runs, days } = props;
  if (runs.length === 0) return <FirstSteps />;
  return (
    <>
      <section id="today-cards" data-refreshed aria-label="What waits, and what goes on">
        <Cards {...props} />
      </section>
      <div class="row g-3">
        <section id="today-runs" class="col-lg-8" data-refreshed aria-label="Last runs">
          <RunsTable caption="Last runs" runs={runs.slice(0, RUNS_SHOWN)} isShort />
        </section>
        <div class="col-lg-4">
          <DayChart days={days} />
        </div>
      </div>
      <p>
        <a href="/runs">All runs</a>
      </p>
    </>
  );
}

/** One sentence below the title. */
export function todayWords({ approve, held, unknown }: Waiting): string {
  const parts = [
    ...(approve.length === 0
      ? []
      : [`${shownCount(approve.length)} ${approve.length === 1 ? 'file waits' : 'files wait'} for your approval`]),
    ...(held === 0 ? [] : [`${shownCount(held)} ${held === 1 ? 'payout needs' : 'payouts need'} a person`]),
    ...(unknown === 0
      ? []
      : [`payrun still looks what came of ${shownCount(unknown)} ${unknown === 1 ? 'payout' : 'payouts'}`]),
  ];
  return parts.length === 0 ? 'Nothing waits for you.' : `${parts.join(', and ')}.`;
}

function Cards({ runs, waiting, unpaid, refusedFiles, who }: TodayProps) {
  const paying = runs.filter(({ state }) => state === 'paying');
  const later = runs.filter(({ state, startAt }) => state === 'paused' && startAt !== null);
  const unpaidRows = unpaid.reduce((sum, { rows }) => sum + rows, 0);
  const starts = later.map(({ startAt }) => startAt).filter((at) => typeof at === 'number');
  return (
    <div class="today-cards row row-cols-2 row-cols-md-3 row-cols-xl-6 g-2 g-md-3 mb-3">
      {who.may('approve') ? (
        <Card
          label="To approve"
          icon="checklist"
          tone="wait"
          count={waiting.approve.length}
          href={hrefOf(waiting.approve, '/approve', '/runs?state=awaiting-approval')}
        >
          <Sum money={sumOf(waiting.approve.flatMap(({ fileTotals: totals }) => totals))} />
        </Card>
      ) : null}
      <Card label="To settle" icon="user-question" tone="wait" count={waiting.held + waiting.unknown} href="/to-settle">
        <Sum money={heldMoney(waiting.settle)} />
        {waiting.unknown === 0 ? null : <div>{shownCount(waiting.unknown)} not known yet</div>}
      </Card>
      <Card
        label="Paying now"
        icon="player-play"
        tone="busy"
        count={paying.length}
        href={hrefOf(paying, '', '/runs?state=paying')}
      >
        {paying.length === 0 ? null : paidWords(paying)}
      </Card>
      <Card
        label="Not paid since yesterday"
        icon="alert-triangle"
        tone="bad"
        count={unpaidRows}
        href={hrefOf(
          unpaid.map(({ run }) => run),
          '',
          '/runs?outcome=not-paid',
        )}
      >
        {unpaid.length === 0 ? null : `in ${shownCount(unpaid.length)} ${unpaid.length === 1 ? 'run' : 'runs'}`}
      </Card>
      <Card
        label="Starts later"
        icon="calendar-clock"
        tone="still"
        count={later.length}
        href={hrefOf(later, '', '/runs?state=starts-later')}
      >
        {starts.length === 0 ? null : <Time at={Math.min(...starts)} />}
      </Card>
      <Card label="Refused in the drop folder" icon="folder-x" tone="bad" count={refusedFiles} href="/inbox" />
    </div>
  );
}

/** To the one run there is, or to the list of several. */
function hrefOf(runs: readonly Run[], below: string, list: string): string {
  const [only] = runs;
  return only !== undefined && runs.length === 1 ? `/runs/${only.id}${below}` : list;
}

interface CardProps {
  readonly label: string;
  readonly icon: IconName;
  readonly tone: Tone;
  readonly count: number;
  readonly href: string;
  readonly children?: ComponentChildren;
}

function Card({ label, icon, tone, count, href, children }: CardProps) {
  return (
    <div class="col">
      <a class="card card-body card-link h-100 p-3 text-reset" href={href}>
        <span class="dim d-flex gap-2">
          <Icon name={icon} /> {label}
        </span>
        <span class={`figure ${count === 0 ? 'dim' : `tone-${tone}`}`}>{shownCount(count)}</span>
        <span class="hint">{children}</span>
      </a>
    </div>
  );
}

function Sum({ money }: { money: readonly Money[] }) {
  const [first, ...others] = money;
  if (first === undefined) return null;
  return (
    <>
      <Amount money={first} />
      {others.length === 0 ? null : ` and ${others.length} more ${others.length === 1 ? 'currency' : 'currencies'}`}
    </>
  );
}

function paidWords(runs: readonly Run[]): string {
  const paid = runs.reduce((sum, { counts }) => sum + counts.completed, 0);
  const rows = runs.reduce((sum, run) => sum + run.rows, 0);
  return `${shownCount(paid)} of ${counted(rows, 'row')} paid`;
}

function heldMoney(runs: readonly Run[]): Money[] {
  const held = runs.flatMap((run) =>
    fileTotals([], run.amounts).map(({ currency, outcomes }) => ({ minor: outcomes.held, currency })),
  );
  return sumOf(held.filter(({ minor }) => minor > 0n));
}

/** One amount for each currency, in alphabetic order. */
function sumOf(amounts: readonly Money[]): Money[] {
  return fileTotals(amounts, new Map()).map(({ currency, file }) => ({ minor: file, currency }));
}

function FirstSteps() {
  return (
    <ol class="cards list-unstyled">
      <li class="card card-body">
        <h2>1. Take a payout file</h2>
        <p>
          A CSV file with a line for each payout.
          <May act="submit">
            {' '}
            <a href="/upload/example.csv">Take the example</a> to try it.
          </May>
        </p>
      </li>
      <li class="card card-body">
        <h2>2. Upload it and look</h2>
        <p>payrun shows what is wrong with it, or what it comes to. Nothing is paid by this.</p>
        <May act="submit">
          <p>
            <a class="btn btn-primary" href="/upload">
              <Icon name="upload" /> Upload a file
            </a>
          </p>
        </May>
      </li>
      <li class="card card-body">
        <h2>3. Hand it in</h2>
        <p>
          It becomes a run: where it needs approval, another person gives it; then each row is paid once, and a report
          proves it.
        </p>
      </li>
    </ol>
  );
}
