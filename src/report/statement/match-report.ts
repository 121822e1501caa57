import type { Movement } from '../../intake/statement/movement.ts';
import { formatAmount } from '../../money.ts';
import { outcomeOf, type Payout } from '../../payout.ts';
import { jsonText } from '../json-text.ts';
import { type TableCell, tableCsv } from '../table-csv.ts';
import { isDebited, MATCH_STATUSES, type Match, type MatchStatus } from './match.ts';

/** How many lines there are of each status, and how many payments are wholly on the statement. */
export interface MatchCounts extends Readonly<Record<MatchStatus, number>> {
  /** Payments that a statement should show. */
  readonly payments: number;
  readonly reconciled: number;
}

type Batches = AsyncIterable<readonly Match[]>;

/** Counts lines on their way, in all and for each run. The lines of one payment come one after the other. */
export function openMatchCounts() {
  const total = noCounts();
  const runs = new Map<string, Counts>();
  let last: { readonly place: string; isSound: boolean } | undefined;

  function add({ status, payout }: Match): void {
    const all = payout === null ? [total] : [total, countsOf(runs, payout.runId)];
    for (const counts of all) counts[status] += 1;
    if (payout === null || !isDebited(payout)) return;
    const place = `${payout.runId} ${payout.line}`;
    if (last?.place !== place) {
      last = { place, isSound: true };
      for (const counts of all) counts.payments += 1;
      for (const counts of all) counts.reconciled += 1;
    }
    if (status === 'matched' || !last.isSound) return;
    last.isSound = false;
    for (const counts of all) counts.reconciled -= 1;
  }

  /** Of movements that belong to no payment of any of the runs. */
  function strays(): number {
    return total.extra - [...runs.values()].reduce((sum, { extra }) => sum + extra, 0);
  }

  return {
    async *counting(batches: Batches): AsyncGenerator<readonly Match[], void> {
      for await (const batch of batches) {
        for (const match of batch) add(match);
        yield batch;
      }
    },
    result: (): MatchCounts => ({ ...total }),
    /** Movements without a payment count for each run: any of them may be the run's. */
    ofRun: (runId: string): MatchCounts => {
      const own = runs.get(runId) ?? noCounts();
      return { ...own, extra: own.extra + strays() };
    },
  };
}

type Counts = { -readonly [Key in keyof MatchCounts]: MatchCounts[Key] };

function noCounts(): Counts {
  return { matched: 0, missing: 0, different: 0, extra: 0, payments: 0, reconciled: 0 };
}

function countsOf(runs: Map<string, Counts>, runId: string): Counts {
  const counts = runs.get(runId) ?? noCounts();
  runs.set(runId, counts);
  return counts;
}

/** Whether everything that a statement and the runs have stands on both sides. */
export function isReconciled(counts: MatchCounts): boolean {
  return MATCH_STATUSES.every((status) => status === 'matched' || counts[status] === 0);
}

/** The lines as CSV (RFC 4180, UTF-8, CRLF), the words of others neutralised. */
export async function* matchCsv(batches: Batches): AsyncGenerator<string, void> {
  yield tableCsv([Object.keys(matchDocument({ status: 'extra', why: '', payout: null, movement: null }))]);
  for await (const batch of batches) if (batch.length > 0) yield tableCsv(batch.map(cellsOf));
}

/** Amounts stay exact; all else is text. */
function cellsOf(match: Match): TableCell[] {
  return Object.entries(matchDocument(match)).map(([name, value]) =>
    typeof value === 'string' && /amount$/i.test(name) ? { exact: value } : value,
  );
}

/** The lines and their counts as one JSON document, after what it is about. */
export async function* matchJson(
  batches: Batches,
  { about, counts }: { about: object; counts: () => MatchCounts },
): AsyncGenerator<string, void> {
  yield `${jsonText(about).slice(0, -1)},"lines":[`;
  let first = true;
  for await (const batch of batches) {
    for (const match of batch) {
      yield `${first ? '' : ','}\n${jsonText(matchDocument(match))}`;
      first = false;
    }
  }
  yield `\n],"counts":${jsonText(counts())}}\n`;
}

/** A line as JSON: what payrun has, then what the statement has; null for a side that has nothing. */
export function matchDocument({ status, why, payout, movement }: Match) {
  return {
    status,
    why,
    ...(payout === null ? NO_PAYOUT : payoutFacts(payout)),
    ...(movement === null ? NO_MOVEMENT : movementFacts(movement)),
  };
}

const NO_PAYOUT = {
  runId: null,
  line: null,
  reference: null,
  outcome: null,
  paymentId: null,
  amount: null,
  currency: null,
};

function payoutFacts({ runId, line, row, state, paymentId, sourceAmount }: Payout) {
  const expected = sourceAmount ?? row.amount;
  const place = { runId, line, reference: row.reference, outcome: outcomeOf(state), paymentId };
  return { ...place, amount: formatAmount(expected), currency: expected.currency };
}

const NO_MOVEMENT = {
  statementLine: null,
  statementDate: null,
  direction: null,
  statementAmount: null,
  statementCurrency: null,
  statementReference: null,
  statementIds: null,
};

function movementFacts({ line, date, isCredit, amount, reference, ids }: Movement) {
  return {
    statementLine: line,
    statementDate: date,
    direction: isCredit ? 'credit' : 'debit',
    statementAmount: amount === null ? null : formatAmount(amount),
    statementCurrency: amount?.currency ?? null,
    statementReference: reference,
    statementIds: ids.join(' '),
  };
}
