import type { Ledger } from '../ledger/ledger.ts';
import { OUTCOMES, type Outcome, outcomeOf } from '../payout.ts';
import { inLargeRun, LISTED_ROWS_MAX } from './search/large-run.ts';
import { type ListedRow, openRowLists } from './search/row-list.ts';
import {
  ANYTHING,
  type FoundRows,
  filterOf,
  hasOutcome,
  orderOf,
  type Row,
  type RowSearch,
  type SearchedRun,
  statesWith,
} from './search/row-search.ts';

const ROWS_PER_READ = 100;

/** Finds rows of runs. */
export type FindRows = (run: SearchedRun, search: Partial<RowSearch>) => Promise<FoundRows>;

/** A search that reads no record of a row but those that it gives. Throws a Refusal for what a large run is not searched by. */
export function openFindRows(deps: Parameters<typeof openRowLists>[0] & { ledger: Ledger }): FindRows {
  const { runs, references } = deps.ledger;
  const listOf = openRowLists(deps);

  async function linesOf(run: SearchedRun, search: RowSearch): Promise<number[]> {
    const outcomes = search.outcome === '' && !search.sort.endsWith('outcome') ? null : await outcomesOf(run);
    const isWanted = filterOf(search);
    const list = await listOf(run);
    const { column, direction } = orderOf(search.sort);
    const sorted = await list.sorted(column === 'outcome' ? 'line' : column, column === 'outcome' ? 1 : direction);
    const found = sorted.filter(
      (row) => isWanted(row) && (search.outcome === '' || outcomes?.[row.line] === search.outcome),
    );
    if (column !== 'outcome' || outcomes === null) return found.map(({ line }) => line);
    const places = new Map(OUTCOMES.map((outcome, at) => [outcome, at]));
    const placeOf = ({ line }: ListedRow): number => places.get(outcomes[line] ?? 'waiting') ?? 0;
    return found.toSorted((one, other) => direction * (placeOf(one) - placeOf(other))).map(({ line }) => line);
  }

  /** By line. */
  async function outcomesOf({ id, counts }: SearchedRun): Promise<readonly (Outcome | undefined)[]> {
    const outcomes: Outcome[] = [];
    const states = statesWith('').filter((state) => counts[state] > 0);
    await Promise.all(
      states.map(async (state) => {
        for await (const lines of runs.linesIn(id, { state })) {
          for (const line of lines) outcomes[line] = outcomeOf(state);
        }
      }),
    );
    return outcomes;
  }

  return async (run, asked) => {
    const search = { ...ANYTHING, ...asked };
    const { outcome, sort, ...others } = search;
    if (sort === 'line' && Object.values(others).every((value) => value === '')) return byOutcome(runs, run, outcome);
    if (run.rows > LISTED_ROWS_MAX) return await inLargeRun({ runs, references }, run, search);
    return byLines(runs, run.id, { lines: await linesOf(run, search), outcome });
  };
}

/** In file order. */
function byOutcome(runs: Ledger['runs'], { id, counts }: SearchedRun, outcome: Outcome | ''): FoundRows {
  const states = statesWith(outcome);
  return {
    count: states.reduce((sum, state) => sum + counts[state], 0),
    isWhole: true,
    page: async (skip, most) => await runs.page(id, { states, skip, most }),
    async *all() {
      for await (const rows of runs.rows(id, states)) yield rows.filter((row) => hasOutcome(row, outcome));
    },
  };
}

function byLines(
  runs: Ledger['runs'],
  runId: string,
  { lines, outcome }: { lines: readonly number[]; outcome: Outcome | '' },
): FoundRows {
  const read = async (from: number, to: number): Promise<Row[]> => {
    const rows = await Promise.all(lines.slice(from, to).map((line) => runs.row(runId, line)));
    return rows.filter((row) => row !== undefined);
  };
  return {
    count: lines.length,
    isWhole: true,
    page: async (skip, most) => await read(skip, skip + most),
    async *all() {
      for (let from = 0; from < lines.length; from += ROWS_PER_READ) {
        yield (await read(from, from + ROWS_PER_READ)).filter((row) => hasOutcome(row, outcome));
      }
    },
  };
}
