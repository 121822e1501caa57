import { OUTCOMES, RUN_STATES, type Run } from '../../payout.ts';
import { NEWEST_FIRST, type RunColumn, type RunSort, type RunsWanted } from '../../runs/search/run-search.ts';
import { MoneyFields, SortChoice } from '../lists/list-fields.tsx';
import { May } from '../may.tsx';
import { Choice, Field } from '../parts/fields.tsx';
import { shownCount } from '../parts/figures.ts';
import { OUTCOME_WORDS } from '../parts/outcome-words.ts';
import { CountedPages } from '../parts/pages.tsx';
import { sortLinks } from '../parts/table.tsx';
import { RUN_STATE_WORDS } from '../run/run-status.ts';
import { RunsTable } from './runs-table.tsx';
import { hrefOfRuns } from './wanted.ts';

interface RunsProps {
  readonly runs: readonly Run[];
  /** How many there are on all pages. */
  readonly total: number;
  readonly wanted: RunsWanted;
  /** From 1. */
  readonly page: number;
  readonly pages: number;
}

/** The runs, the newest first, with what narrows them down. */
export function RunsPage({ runs, total, wanted, page, pages }: RunsProps) {
  const isNarrowed = Object.entries(wanted).some(([name, value]) => name !== 'sort' && value !== '');
  if (total === 0 && !isNarrowed) {
    return (
      <p class="empty">
        There are no runs yet.{' '}
        <May act="submit">
          <a href="/upload">Upload a payout file</a> to begin with.
        </May>
      </p>
    );
  }
  return (
    <>
      <SearchForm wanted={wanted} />
      {total === 0 ? (
        <p class="empty">
          No run is like that. <a href="/runs">Show all runs</a>
        </p>
      ) : (
        <>
          <p>
            {shownCount(total)} {total === 1 ? 'run' : 'runs'} · <a href={hrefOfRuns(wanted, '.csv')}>as CSV</a> ·{' '}
            <a href="/period">report of a period</a>
            <May act="submit">
              {' '}
              · <a href="/reconcile">reconcile with the bank</a>
            </May>
          </p>
          <RunsTable
            caption={wanted.sort === NEWEST_FIRST ? 'Runs, the newest first' : 'Runs'}
            runs={runs}
            by={sortLinks<RunColumn>(wanted.sort, (sort) => hrefOfRuns({ ...wanted, sort }))}
          />
          <CountedPages
            page={page}
            pages={pages}
            hrefOf={(other) => hrefOfRuns({ ...wanted, page: other })}
            {...(wanted.sort === NEWEST_FIRST ? { words: { before: 'Newer', after: 'Older' } } : {})}
          />
        </>
      )}
    </>
  );
}

const SORTS: readonly (readonly [RunSort, string])[] = [
  [NEWEST_FIRST, 'newest first'],
  ['handedIn', 'oldest first'],
  ['file', 'file name'],
  ['-rows', 'rows, most first'],
  ['-amount', 'money, most first'],
];

function SearchForm({ wanted }: { wanted: RunsWanted }) {
  return (
    <form method="get" action="/runs" class="list-search">
      <Choice
        label="State"
        name="state"
        value={wanted.state}
        options={[
          ['', 'any'],
          ...RUN_STATES.map((state) => [state, RUN_STATE_WORDS[state]] as const),
          ['starts-later', 'starts later'],
        ]}
      />
      <Choice
        label="With rows that are"
        name="outcome"
        value={wanted.outcome}
        options={[
          ['', 'any'],
          ['not-paid', 'not paid, for any reason'],
          ...OUTCOMES.map((outcome) => [outcome, OUTCOME_WORDS[outcome]] as const),
        ]}
      />
      <Field label="Run, file name, submitter or SHA-256" name="text" value={wanted.text} maxLength={200} />
      <Field label="Handed in from" name="from" value={wanted.from} isDay />
      <Field label="to" name="to" value={wanted.to} isDay />
      <MoneyFields wanted={wanted} />
      <SortChoice sorts={SORTS} sort={wanted.sort} />
      <button type="submit" class="btn">
        Search
      </button>
    </form>
  );
}
