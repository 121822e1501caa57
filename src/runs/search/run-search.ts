import type { Ledger } from '../../ledger/ledger.ts';
import type { FoundRuns, SoughtState } from '../../ledger/runs/find-runs.ts';
import type { Money } from '../../money.ts';
import { type Outcome, outcomeOf, PAYOUT_STATES, type PayoutState, type Run } from '../../payout.ts';
import type { Zone } from '../../zone.ts';
import { type AmountRange, amountsIn, compareListed, compareText } from './amounts.ts';

/** Of so many runs the facts are kept, some 400 bytes each; those of the others are read for each search. */
const FACTS_KEPT_MAX = 50_000;
const RUNS_PER_READ = 200;
const DAY_MS = 24 * 60 * 60_000;

export type RunColumn = 'handedIn' | 'file' | 'rows' | 'amount';
export type RunSort = RunColumn | `-${RunColumn}`;
export const RUN_SORTS: readonly RunSort[] = [
  '-handedIn',
  'handedIn',
  'file',
  '-file',
  'rows',
  '-rows',
  'amount',
  '-amount',
];
export const NEWEST_FIRST: RunSort = '-handedIn';

/** Which runs are wanted, and in which order; '' for any. */
export interface RunsWanted extends AmountRange {
  readonly state: SoughtState | '';
  /** Some of its rows came to it; `not-paid` is any that ends without the money with its beneficiary. */
  readonly outcome: Outcome | 'not-paid' | '';
  /** Stands in the id, the file's name or SHA-256, or the name of who submitted it. */
  readonly text: string;
  /** One of those in the file; amounts are its totals. */
  readonly currency: string;
  /** The first and the last day on which they were handed in, such as `2026-01-31`. */
  readonly from: string;
  readonly to: string;
  readonly sort: RunSort;
}

/** What runs are sorted and filtered by: it never changes. */
interface RunFacts {
  readonly id: string;
  readonly handedIn: number;
  readonly file: string;
  readonly rows: number;
  readonly totals: readonly Money[];
}

export type FindRuns = (
  wanted: RunsWanted,
  place: { readonly skip?: number; readonly most?: number },
) => Promise<FoundRuns>;

/** Finds runs; days are those of the zone. What runs are sorted and filtered by is read once. */
export function openFindRuns({ runs }: Pick<Ledger, 'runs'>, zone: Zone): FindRuns {
  const readFacts = openFacts(runs);
  return async (wanted, { skip = 0, most = Number.MAX_SAFE_INTEGER }) => {
    const { state, outcome, text, sort, ...others } = wanted;
    const search = { state: state || undefined, having: statesOf(outcome), text };
    const isPlain = sort === NEWEST_FIRST && Object.values(others).every((value) => value === '');
    if (isPlain) return await runs.find({ ...search, skip, most });
    const { ids } = await runs.find(search);
    const found = sorted((await readFacts(ids)).flatMap(narrowing(wanted, zone)), sort);
    return { ids: found.slice(skip, skip + most).map(({ id }) => id), total: found.length };
  };
}

const NOT_PAID: readonly Outcome[] = ['failed', 'returned', 'rejected', 'cancelled', 'refused'];

function statesOf(outcome: RunsWanted['outcome']): (PayoutState | 'refused')[] {
  const wanted = outcome === 'not-paid' ? NOT_PAID : [outcome];
  return [...PAYOUT_STATES, 'refused' as const].filter((state) => wanted.includes(outcomeOf(state)));
}

/** Keeps the facts of a run that is wanted, and of its totals those that are. */
function narrowing(wanted: RunsWanted, zone: Zone): (run: RunFacts) => RunFacts[] {
  const { currency, amountFrom, amountTo, from, to } = wanted;
  const isInRange = amountsIn(wanted);
  const hasMoney = currency !== '' || amountFrom !== '' || amountTo !== '';
  const [begin, end] = [from === '' ? -Infinity : dayOf(from, zone), to === '' ? Infinity : dayOf(to, zone, DAY_MS)];
  return (run) => {
    if (run.handedIn < begin || run.handedIn >= end) return [];
    if (!hasMoney) return [run];
    const totals = run.totals.filter((total) => (currency === '' || total.currency === currency) && isInRange(total));
    return totals.length === 0 ? [] : [{ ...run, totals }];
  };
}

function dayOf(day: string, zone: Zone, later = 0): number {
  return zone.instantAt(Date.parse(`${day}T00:00:00Z`) + later);
}

/** Of equal ones the newest comes first, as it does among `runs`. */
function sorted(runs: readonly RunFacts[], sort: RunSort): readonly RunFacts[] {
  if (sort === NEWEST_FIRST) return runs;
  if (sort === 'handedIn') return runs.toReversed();
  const direction = sort.startsWith('-') ? -1 : 1;
  if (sort.endsWith('file')) return runs.toSorted((one, other) => direction * compareText(one.file, other.file));
  if (sort.endsWith('rows')) return runs.toSorted((one, other) => direction * (one.rows - other.rows));
  return runs.toSorted((one, other) => compareListed(one.totals[0], other.totals[0], direction));
}

function openFacts(runs: Ledger['runs']): (ids: readonly string[]) => Promise<RunFacts[]> {
  const kept = new Map<string, RunFacts>();
  return async (ids) => {
    const read = new Map<string, RunFacts>();
    const unknown = ids.filter((id) => !kept.has(id));
    for (let from = 0; from < unknown.length; from += RUNS_PER_READ) {
      const found = await Promise.all(unknown.slice(from, from + RUNS_PER_READ).map((id) => runs.read(id)));
      for (const run of found) {
        if (run === undefined) continue;
        // One that was restored from an intent log gets its name when its file comes again.
        (run.fileName !== '' && kept.size < FACTS_KEPT_MAX ? kept : read).set(run.id, factsOf(run));
      }
    }
    return ids.flatMap((id) => kept.get(id) ?? read.get(id) ?? []);
  };
}

function factsOf({ id, createdAt, fileName, rows, fileTotals }: Run): RunFacts {
  const totals = fileTotals.toSorted((one, other) => compareText(one.currency, other.currency));
  return { id, handedIn: createdAt, file: fileName.toLowerCase(), rows, totals };
}
