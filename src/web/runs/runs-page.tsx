import { RUN_STATES, type Run } from '../../payout.ts';
import { shownCount } from '../parts/figures.ts';
import { CountedPages } from '../parts/pages.tsx';
import { RUN_STATE_WORDS } from './run-status.ts';
import { RunsTable } from './runs-table.tsx';

/** What the list is narrowed down to; '' for anything. */
export interface RunsWanted {
  readonly state: string;
  readonly text: string;
}

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
  const isNarrowed = wanted.state !== '' || wanted.text !== '';
  if (total === 0 && !isNarrowed) {
    return (
      <p class="empty">
        There are no runs yet. <a href="/upload">Upload a payout file</a> to begin with.
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
            {shownCount(total)} {total === 1 ? 'run' : 'runs'} · <a href={hrefOf('/runs.csv', wanted)}>as CSV</a> ·{' '}
            <a href="/period">report of a period</a> · <a href="/reconcile">reconcile with the bank</a>
          </p>
          <RunsTable caption="Runs, the newest first" runs={runs} />
          <CountedPages
            page={page}
            pages={pages}
            hrefOf={(other) => hrefOf('/runs', { ...wanted, page: other })}
            words={{ before: 'Newer', after: 'Older' }}
          />
        </>
      )}
    </>
  );
}

function SearchForm({ wanted }: { wanted: RunsWanted }) {
  return (
    <form method="get" action="/runs" class="runs-search">
      <p class="field">
        <label class="form-label" htmlFor="field-state">
          State
        </label>
        <select class="form-select" id="field-state" name="state">
          <option value="">any</option>
          {RUN_STATES.map((state) => (
            <option key={state} value={state} selected={state === wanted.state}>
              {RUN_STATE_WORDS[state]}
            </option>
          ))}
        </select>
      </p>
      <p class="field">
        <label class="form-label" htmlFor="field-text">
          Run, file name, submitter or SHA-256
        </label>
        <input type="search" class="form-control" id="field-text" name="text" value={wanted.text} maxLength={200} />
      </p>
      <button type="submit" class="btn">
        Search
      </button>
    </form>
  );
}

function hrefOf(path: string, { state, text, page }: RunsWanted & { readonly page?: number }): string {
  const query = new URLSearchParams({
    ...(state === '' ? {} : { state }),
    ...(text === '' ? {} : { text }),
    ...(page === undefined ? {} : { page: String(page) }),
  }).toString();
  return query === '' ? path : `${path}?${query}`;
}
