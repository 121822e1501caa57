import type { Money, RunFunds } from '../../money.ts';
import { moneyOfDecimal } from '../../money.ts';
import {
  OUTCOMES,
  type Outcome,
  PAYOUT_STATES,
  type ReportHashes,
  RUN_STATES,
  type Run,
  type RunStages,
  type RunStart,
  type StagePlan,
} from '../../payout.ts';
import type { Reconciled } from '../../reconciled.ts';
import { readApprovals } from '../people/approvals.ts';
import { integerOf, LedgerFault } from '../script.ts';

/** A run as its hash has it; throws a LedgerFault for a damaged one. */
export function readRun(id: string, fields: ReadonlyMap<string, string>, deadQuotes: number): Run {
  const state = RUN_STATES.find((known) => known === fields.get('state'));
  if (state === undefined) throw new LedgerFault(`run ${id} has an unknown state`);
  const states = [...PAYOUT_STATES, 'refused' as const];
  const text = (name: string): string => fields.get(name) ?? '';
  const words = (name: string): string[] => text(name).split(' ').filter(Boolean);
  const number = (name: string): number => integerOf(fields.get(name) ?? '0');
  const time = (name: string): number | null => (fields.has(name) ? number(name) : null);
  return {
    id,
    state,
    pauseReason: fields.get('pauseReason') ?? null,
    pauses: number('pauses'),
    startAt: readStart(fields.get('startAt')),
    askedStart: readStart(fields.get('askedStart')),
    stages: readStages(fields),
    stagePlan: readPlan(fields),
    maxCostDriftBp: fields.has('maxCostDriftBp') ? BigInt(number('maxCostDriftBp')) : null,
    fileName: text('fileName'),
    fileSha256: text('fileSha256'),
    contentHash: text('contentHash'),
    approvals: readApprovals(text('approvals')),
    rows: number('rows'),
    fileTotals: readTotals(text('fileTotals')),
    createdAt: number('createdAt'),
    createdBy: text('createdBy'),
    recordedAt: time('recordedAt'),
    isInDoubt: fields.has('restored') || fields.has('doubted'),
    isTakenOver: fields.has('takenOver'),
    dropper: fields.get('dropper') ?? null,
    submissionKey: fields.get('submissionKey') ?? null,
    rowsDigest: fields.get('rowsDigest') ?? null,
    seal: fields.get('seal') ?? null,
    currencies: words('currencies'),
    columns: words('columns'),
    newBeneficiaryRows: number('newBeneficiaryRows'),
    finishedAt: time('finishedAt'),
    finishedChanges: number('finishedChanges'),
    counts: recordOf(states, (payoutState) => number(`n:${payoutState}`)),
    amounts: readAmounts(fields),
    changes: number('changes'),
    reportedChanges: number('reportedChanges'),
    reportVersion: number('reportVersion'),
    reportHashes: readReportHashes(fields),
    purgedAt: time('purgedAt'),
    deadQuotes,
    deadQuotesFound: time('deadQuotesFound'),
    reconciled: readReconciled(fields.get('reconciled')),
    funds: readFunds(fields.get('funds')),
    samples: words('pace').map(readSample),
  };
}

function recordOf<Key extends string, Value>(names: readonly Key[], valueOf: (key: Key) => Value): Record<Key, Value> {
  // Object.fromEntries forgets the keys' type; each of them is set here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every key of the record is in the list
  return Object.fromEntries(names.map((key) => [key, valueOf(key)])) as Record<Key, Value>;
}

/** The field of a report's hashes in the run hash. */
export function reportHashField(version: number): string {
  return `report:${version}`;
}

function readReportHashes(fields: ReadonlyMap<string, string>): ReportHashes[] {
  const hashes = [...fields].flatMap(([name, value]) => {
    const version = /^report:([0-9]+)$/.exec(name)?.[1];
    const [csv = '', json = ''] = value.split(' ');
    return version === undefined ? [] : [{ version: Number.parseInt(version, 10), csv, json }];
  });
  return hashes.toSorted((one, other) => one.version - other.version);
}

function readReconciled(text: string | undefined): Reconciled | null {
  if (text === undefined) return null;
  const [at, payments, reconciled, missing, different, extra, sha256 = ''] = text.split(' ');
  return {
    at: integerOf(at),
    sha256,
    payments: integerOf(payments),
    reconciled: integerOf(reconciled),
    missing: integerOf(missing),
    different: integerOf(different),
    extra: integerOf(extra),
  };
}

/** How far a run is reconciled, as the run hash keeps it. */
export function reconciledField(of: Reconciled): Record<string, string> {
  const { at, payments, reconciled, missing, different, extra, sha256 } = of;
  return { reconciled: [at, payments, reconciled, missing, different, extra, sha256].join(' ') };
}

function readSample(text: string): Run['samples'][number] {
  const [atMs, done] = text.split(':');
  return { atMs: integerOf(atMs), done: integerOf(done) };
}

/** What a run needs, as its hash keeps it. */
export function readFunds(text: string | undefined): RunFunds | null {
  if (text === undefined) return null;
  const [at, payouts, unpriced, ...needed] = text.split(' ');
  return {
    at: integerOf(at),
    payouts: integerOf(payouts),
    unpriced: integerOf(unpriced),
    needed: needed.map((one) => {
      const [currency = '', amount = '0', fees = '0', kind, balance] = one.split(':');
      const need = { currency, amount: BigInt(amount), fees: BigInt(fees), isEstimate: kind === 'estimate' };
      return balance === undefined ? need : { ...need, balance: balance === '' ? null : BigInt(balance) };
    }),
  };
}

/** What a run needs, as the run hash keeps it: `USD:12345:99:exact` for each currency, and the balance after that where it was asked for. */
export function fundsField({ at, payouts, unpriced, needed }: RunFunds): Record<string, string> {
  const each = needed.map(({ currency, amount, fees, isEstimate, balance }) => {
    const told = balance === undefined ? '' : `:${balance ?? ''}`;
    return `${currency}:${amount}:${fees}:${isEstimate ? 'estimate' : 'exact'}${told}`;
  });
  return { funds: [at, payouts, unpriced, ...each].join(' ') };
}

function readStart(text: string | undefined): RunStart | null {
  if (text === undefined || text === 'schedule') return text ?? null;
  return integerOf(text);
}

/** What was said of a run's stages, as its hash keeps it. */
export function planFields(plan: StagePlan | null): Record<string, string> {
  return plan === null ? {} : { stagePlan: plan.sizes, goesOnIfPaid: plan.goesOnIfPaid ? '1' : '' };
}

/** The stages of a recorded run, as its hash keeps them: `rows@line` for each. A single one is none. */
export function stageFields(ends: RunStages['ends']): Record<string, string> {
  const [first] = ends;
  if (first === undefined || ends.length < 2) return {};
  return {
    stages: ends.map(({ rows, line }) => `${rows}@${line}`).join(' '),
    stage: '0',
    stageEnd: String(first.line),
  };
}

function readPlan(fields: ReadonlyMap<string, string>): StagePlan | null {
  const sizes = fields.get('stagePlan');
  return sizes === undefined ? null : { sizes, goesOnIfPaid: fields.get('goesOnIfPaid') === '1' };
}

function readStages(fields: ReadonlyMap<string, string>): RunStages | null {
  const text = fields.get('stages');
  if (text === undefined) return null;
  const ends = text.split(' ').map((end) => {
    const [rows, line] = end.split('@');
    return { rows: integerOf(rows), line: integerOf(line) };
  });
  const at = integerOf(fields.get('stage') ?? '0');
  return { ends, at, isOver: fields.has('stageOver'), goesOnIfPaid: fields.get('goesOnIfPaid') === '1' };
}

function readTotals(text: string): Money[] {
  if (text === '') return [];
  return text.split(',').map((entry) => {
    const [currency = '', amount = ''] = entry.split(' ');
    const money = moneyOfDecimal(amount, currency);
    if (money === undefined) throw new LedgerFault('a run has a damaged total');
    return money;
  });
}

function readAmounts(fields: ReadonlyMap<string, string>): Map<string, Record<Outcome, bigint>> {
  const amounts = new Map<string, Record<Outcome, bigint>>();
  for (const [name, value] of fields) {
    const match = /^m:([A-Z]{3}):([a-z]+)$/.exec(name);
    const outcome = OUTCOMES.find((known) => known === match?.[2]);
    const currency = match?.[1];
    if (currency === undefined || outcome === undefined) continue;
    const row = amounts.get(currency) ?? recordOf(OUTCOMES, () => 0n);
    row[outcome] = BigInt(value);
    amounts.set(currency, row);
  }
  return amounts;
}
