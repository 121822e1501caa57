import type { Clock } from '../../clock.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Log } from '../../log.ts';
import { formatAmount } from '../../money.ts';
import type { Payout, RefusedRow, Run } from '../../payout.ts';
import { openRowIndex, type RowPlace } from './row-index.ts';

/** Found rows that are shown, and runs. */
const FOUND_ROWS_MAX = 30;
const FOUND_RUNS_MAX = 20;
/** Some 250 MB. Rows beyond are found in their runs. */
const ROWS_MAX = 5_000_000;
const LINES_PER_CALL = 500;
/** So long a search waits for what was recorded since the last one. */
const WAIT_MS = 500;
const NAMES_FRESH_MS = 60_000;
const NAMES_PER_CALL = 1000;

export interface SearchDeps {
  readonly ledger: Pick<Ledger, 'runs' | 'slices' | 'names' | 'payouts'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

export interface FoundRow {
  readonly runId: string;
  readonly row: Payout | RefusedRow;
}

export interface Found {
  /** The newest first. */
  readonly runs: readonly Run[];
  readonly rows: readonly FoundRow[];
  /** Whether there are more rows than these. */
  readonly hasMore: boolean;
  /** False while rows are still being read, or where there are too many. */
  readonly isWhole: boolean;
}

/**
 * Searches all runs: references (any part, any case), amounts, payments, names and ids of beneficiaries, and what the list of
 * runs is searched by. What the rows of a run say never changes, so each run is read once, by the first search after it was
 * recorded; nothing is walked later but bytes in memory.
 */
export function openSearch(deps: SearchDeps): (text: string) => Promise<Found> {
  const { ledger, clock, log } = deps;
  const book = openBook(deps);
  let refreshing: Promise<void> | undefined;

  async function refresh(): Promise<boolean> {
    refreshing ??= book
      .refresh()
      .catch((error: unknown) => log.warn('the rows to search could not be read', { error }))
      .finally(() => {
        refreshing = undefined;
      });
    const waiting = new AbortController();
    await Promise.race([refreshing, clock.sleep(WAIT_MS, waiting.signal)]);
    waiting.abort();
    return refreshing === undefined;
  }

  return async (text) => {
    const wanted = text.replaceAll(/\s+/g, ' ').trim().toLowerCase();
    if (wanted === '') return { runs: [], rows: [], hasMore: false, isWhole: true };
    const isRead = await refresh();
    const [{ ids }, payment] = await Promise.all([
      ledger.runs.find({ text: wanted, most: FOUND_RUNS_MAX }),
      ledger.payouts.holderOf(wanted),
    ]);
    const places = [...placeOfPayment(payment), ...book.find(wanted)];
    const rows = await readRows(ledger, places.slice(0, FOUND_ROWS_MAX));
    const runs = await Promise.all(ids.map((id) => ledger.runs.read(id)));
    return {
      runs: runs.filter((run) => run !== undefined),
      rows,
      hasMore: places.length > FOUND_ROWS_MAX,
      isWhole: isRead && book.hasAll(),
    };
  };
}

interface Place {
  readonly runId: string;
  readonly line: number;
}

function placeOfPayment(payout: string | undefined): Place[] {
  const [, runId, line] = /^(.+)-([0-9]+)$/.exec(payout ?? '') ?? [];
  return runId === undefined || line === undefined ? [] : [{ runId, line: Number.parseInt(line, 10) }];
}

/** Each place once; rows of a run that was purged are gone. */
async function readRows({ runs }: SearchDeps['ledger'], places: readonly Place[]): Promise<FoundRow[]> {
  const read = await Promise.all(places.map(async ({ runId, line }) => ({ runId, row: await runs.row(runId, line) })));
  return read.flatMap(({ runId, row }) => (row === undefined ? [] : [{ runId, row }]));
}

function openBook({ ledger, clock }: SearchDeps) {
  const index = openRowIndex();
  const known = new Set<string>();
  const runIds: string[] = [];
  const numbers = new Map<string, number>();
  let names: string[] = [];
  let namesAt = Number.NEGATIVE_INFINITY;

  function numberOf(beneficiary: string): number {
    const number = numbers.get(beneficiary) ?? numbers.size;
    numbers.set(beneficiary, number);
    return number;
  }

  async function readRun(runId: string): Promise<void> {
    const run = await ledger.runs.read(runId);
    if (run === undefined || run.state === 'recording') return;
    known.add(runId);
    const number = runIds.push(runId) - 1;
    const { lastLine } = await ledger.slices.position(runId);
    for (let from = 1; from <= lastLine; from += LINES_PER_CALL) {
      const to = Math.min(lastLine, from + LINES_PER_CALL - 1);
      for (const { line, reference, beneficiary, amount } of await ledger.runs.texts(runId, from, to)) {
        index.add({ run: number, line, reference, beneficiary: numberOf(beneficiary), amount: formatAmount(amount) });
      }
    }
  }

  async function readNames(): Promise<void> {
    if (clock.monotonic() - namesAt < NAMES_FRESH_MS && names.length === numbers.size) return;
    const ids = [...numbers.keys()];
    const listed: string[] = [];
    for (let from = 0; from < ids.length; from += NAMES_PER_CALL) {
      const piece = ids.slice(from, from + NAMES_PER_CALL);
      const found = await ledger.names.read(piece);
      listed.push(...piece.map((id) => found.get(id)?.name.toLowerCase() ?? ''));
    }
    [names, namesAt] = [listed, clock.monotonic()];
  }

  function ofBeneficiaries(wanted: string): RowPlace[] {
    const marked = new Uint8Array(numbers.size);
    for (const [id, number] of numbers) {
      if (id === wanted || names[number]?.includes(wanted) === true) marked[number] = 1;
    }
    return marked.includes(1) ? index.withBeneficiaries(marked, FOUND_ROWS_MAX + 1) : [];
  }

  return {
    /** Reads the runs that were recorded since, the oldest first. */
    async refresh(): Promise<void> {
      const ids = (await ledger.runs.list()).filter((id) => !known.has(id)).toReversed();
      for (const id of ids) if (index.size() < ROWS_MAX) await readRun(id);
      await readNames();
    },
    hasAll: () => index.size() < ROWS_MAX,
    /** Rows with the text, each once; one more than are shown where there are more. */
    find(wanted: string): Place[] {
      const most = FOUND_ROWS_MAX + 1;
      const found = [
        ...index.withText(wanted, most),
        ...amountsOf(wanted).flatMap((amount) => index.withAmount(amount, most)),
        ...ofBeneficiaries(wanted),
      ];
      const places = new Map(found.map((place) => [`${place.run} ${place.line}`, place]));
      return Array.from(places.values(), ({ run, line }) => ({ runId: runIds[run] ?? '', line })).slice(0, most);
    },
  };
}

/** The ways in which an amount may stand in the index, for it is not said of which currency it is: 12, 12.00, 12.000. */
function amountsOf(wanted: string): string[] {
  const plain = /^[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?$/.test(wanted) ? wanted.replaceAll(',', '') : wanted;
  if (!/^[0-9]{1,12}(?:\.[0-9]{1,3})?$/.test(plain)) return [];
  const [whole = '', fraction = ''] = plain.split('.');
  return [...new Set(['', fraction, fraction.padEnd(2, '0'), fraction.padEnd(3, '0')])]
    .filter((digits) => digits.startsWith(fraction))
    .map((digits) => (digits === '' ? whole : `${whole}.${digits}`));
}
