import { addMoney, type Money, sumMoney } from '../../money.ts';
import { OUTCOMES, type Outcome, outcomeOf, type Payout, type RefusedRow } from '../../payout.ts';
import { isRefused } from '../row.ts';
import type { ReportSummary } from '../summary.ts';
import { perOutcome } from '../totals.ts';
import { inTurns, sortedInTurns } from '../turns.ts';
import { addQuoted, type QuotedSum, quotedRateOf, rateOf } from './rates.ts';

/** What rows of several runs are added up by; reasons have those only that were not paid. */
export const DIMENSIONS = [
  'currency',
  'corridor',
  'beneficiary',
  'reason',
  'corridor-reason',
  'beneficiary-reason',
  'run',
] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** What rows add up to that have one name in a dimension and one currency. */
export interface PeriodLine {
  readonly by: Dimension;
  readonly name: string;
  /** Of `amounts`; '' for refused rows whose amount could not be read. */
  readonly currency: string;
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** The file's own amounts, in minor units. */
  readonly amounts: Readonly<Record<Outcome, bigint>>;
  /** Of payments that are pending or paid: what was debited, what arrived, and fees and taxes; one entry a currency. */
  readonly debited: readonly Money[];
  readonly arrived: readonly Money[];
  readonly fees: readonly Money[];
  /** The mean of the rates that were quoted, weighted by what was debited; null where one is not known. */
  readonly quotedRate: string | null;
  /** What arrived for one unit of what was debited: without the fees, and with them. Null where that is in several currencies. */
  readonly rate: string | null;
  readonly rateWithFees: string | null;
  /** The mean from the payment request to the payment's present final state, whichever that is, in whole milliseconds; null without one. */
  readonly finalMs: number | null;
}

/** What the runs of a period add up to. */
export interface PeriodReport {
  /** Milliseconds since 1970, the end not included. */
  readonly from: number;
  readonly end: number;
  readonly createdAt: number;
  readonly runs: readonly string[];
  readonly lines: readonly PeriodLine[];
  /** Runs that were submitted in the period and are in no line: their rows were removed, or are still being recorded. */
  readonly leftOut: readonly string[];
  /** Runs from before it with rows that are still open, and how many of each outcome. */
  readonly earlier: readonly {
    readonly runId: string;
    readonly outcomes: Readonly<Partial<Record<Outcome, number>>>;
  }[];
  /** What does not tie with the runs' own reports; empty where all does. */
  readonly faults: readonly string[];
}

const NOT_PAID: readonly Outcome[] = ['unknown', 'failed', 'returned', 'rejected', 'held', 'cancelled', 'refused'];

/** There may be as many as beneficiaries: others have their turn after so many. */
const GROUPS_A_TURN = 1000;

interface Group {
  readonly by: Dimension;
  readonly name: string;
  readonly currency: string;
  readonly outcomes: Record<Outcome, number>;
  readonly amounts: Record<Outcome, bigint>;
  readonly debited: Map<string, Money>;
  readonly arrived: Map<string, Money>;
  readonly fees: Map<string, Money>;
  quoted: QuotedSum;
  final: { payments: number; ms: number };
}

/** Adds up rows of several runs; memory grows with the number of beneficiaries, not of rows. */
export function openPeriod() {
  const groups = new Map<string, Group>();

  function groupOf(by: Dimension, name: string, currency: string): Group {
    const key = `${by} ${currency} ${name}`;
    const group = groups.get(key) ?? emptyGroup(by, name, currency);
    groups.set(key, group);
    return group;
  }

  function add(runId: string, row: Payout | RefusedRow): void {
    const amount = isRefused(row) ? row.amount : row.row.amount;
    const outcome = outcomeOf(isRefused(row) ? 'refused' : row.state);
    for (const [by, name] of [...namesOf(row, outcome), ['run', runId] as const]) {
      const group = groupOf(by, name, amount?.currency ?? '');
      group.outcomes[outcome] += 1;
      group.amounts[outcome] += amount?.minor ?? 0n;
      if (!isRefused(row)) addPayment(group, row, outcome);
    }
  }

  return {
    add(runId: string, batch: readonly (Payout | RefusedRow)[]): void {
      for (const row of batch) add(runId, row);
    },
    /** By dimension, then currency and name. */
    async lines(): Promise<PeriodLine[]> {
      const lines: PeriodLine[] = [];
      for (const by of DIMENSIONS) {
        const sorted = await sortedInTurns(
          [...groups.values()].filter((one) => one.by === by),
          inOrder,
        );
        for await (const piece of inTurns(sorted, GROUPS_A_TURN)) lines.push(...piece.map(lineOf));
      }
      return lines;
    },
  };
}

function emptyGroup(by: Dimension, name: string, currency: string): Group {
  const sums = { debited: new Map(), arrived: new Map(), fees: new Map() };
  const counts = { outcomes: perOutcome(() => 0), amounts: perOutcome(() => 0n) };
  return { by, name, currency, ...counts, ...sums, quoted: 0n, final: { payments: 0, ms: 0 } };
}

function namesOf(row: Payout | RefusedRow, outcome: Outcome): (readonly [Dimension, string])[] {
  if (isRefused(row)) {
    const name = 'refused rows';
    const dimensions = ['currency', 'corridor', 'beneficiary'] as const;
    return [
      ...dimensions.map((by) => [by, by === 'currency' ? (row.amount?.currency ?? 'unreadable') : name] as const),
      ...reasonsOf(`refused ${row.code}`, { corridor: name, beneficiary: name }),
    ];
  }
  const { sourceCurrency, destinationCurrency, beneficiaryIdentityId, amount } = row.row;
  const corridor = `${sourceCurrency} to ${destinationCurrency}`;
  const of = { corridor, beneficiary: beneficiaryIdentityId };
  return [
    ['currency', amount.currency],
    ['corridor', corridor],
    ['beneficiary', beneficiaryIdentityId],
    ...(NOT_PAID.includes(outcome) ? reasonsOf(`${outcome} ${row.reasonCode ?? 'none given'}`, of) : []),
  ];
}

function reasonsOf(
  reason: string,
  { corridor, beneficiary }: { readonly corridor: string; readonly beneficiary: string },
): (readonly [Dimension, string])[] {
  return [
    ['reason', reason],
    ['corridor-reason', `${corridor}: ${reason}`],
    ['beneficiary-reason', `${beneficiary}: ${reason}`],
  ];
}

function addPayment(
  group: Group,
  { sourceAmount, destinationAmount, rate, fees, ...at }: Payout,
  outcome: Outcome,
): void {
  if (at.sentAt !== null && at.settledAt !== null) {
    group.final = { payments: group.final.payments + 1, ms: group.final.ms + at.settledAt - at.sentAt };
  }
  if (outcome !== 'pending' && outcome !== 'paid') return;
  if (sourceAmount !== null) {
    addTo(group.debited, sourceAmount);
    group.quoted = addQuoted(group.quoted, sourceAmount, rate);
  }
  if (destinationAmount !== null) addTo(group.arrived, destinationAmount);
  for (const fee of fees) addTo(group.fees, fee);
}

function addTo(sums: Map<string, Money>, money: Money): void {
  const sum = sums.get(money.currency);
  sums.set(money.currency, sum === undefined ? money : addMoney(sum, money));
}

function inOrder(one: Group, other: Group): number {
  const [a, b] = one.currency === other.currency ? [one.name, other.name] : [one.currency, other.currency];
  return a < b ? -1 : Number(a > b);
}

function lineOf({ final, quoted, ...group }: Group): PeriodLine {
  const debited = [...group.debited.values()];
  const arrived = [...group.arrived.values()];
  const fees = [...group.fees.values()];
  return {
    ...group,
    debited,
    arrived,
    fees,
    quotedRate: quotedRateOf(quoted, debited, arrived),
    rate: rateOf(debited, arrived),
    rateWithFees: rateOf(sumMoney([...debited, ...fees]), arrived),
    finalMs: final.payments === 0 ? null : Math.round(final.ms / final.payments),
  };
}

/** Whether the lines of each dimension are the sum of the runs' own reports: a sentence for each that is not. */
export async function periodFaults(
  lines: readonly PeriodLine[],
  summaries: readonly ReportSummary[],
): Promise<string[]> {
  const faults = summaries
    .filter(({ ties }) => !ties)
    .map(({ facts }) => `run ${facts.run.id}: its own report does not tie`);
  for (const by of DIMENSIONS) {
    const own = lines.filter((line) => line.by === by);
    for await (const [outcome] of inTurns(by.endsWith('reason') ? NOT_PAID : OUTCOMES, 1)) {
      if (outcome !== undefined) faults.push(...faultsOf(own, summaries, { by, outcome }));
    }
  }
  return faults;
}

function faultsOf(
  own: readonly PeriodLine[],
  summaries: readonly ReportSummary[],
  { by, outcome }: { by: Dimension; outcome: Outcome },
): string[] {
  const rows = own.reduce((sum, line) => sum + line.outcomes[outcome], 0);
  const expected = summaries.reduce((sum, { outcomes }) => sum + outcomes[outcome], 0);
  const here = minorSums(own, ({ amounts }) => amounts[outcome]);
  const totals = summaries.flatMap((one) => one.totals);
  const there = minorSums(totals, ({ outcomes }) => outcomes[outcome]);
  const currencies = [...new Set([...here.keys(), ...there.keys()])].filter((currency) => currency !== '');
  const money = currencies.filter((currency) => (here.get(currency) ?? 0n) !== (there.get(currency) ?? 0n));
  return [
    ...(rows === expected ? [] : [`rows ${outcome} by ${by}: ${rows}, the reports of the runs have ${expected}`]),
    ...money.map((currency) => `money ${outcome} by ${by} in ${currency} is not that of the reports of the runs`),
  ];
}

function minorSums<Line extends { readonly currency: string }>(
  lines: readonly Line[],
  minorOf: (line: Line) => bigint,
): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const line of lines) sums.set(line.currency, (sums.get(line.currency) ?? 0n) + minorOf(line));
  return sums;
}
