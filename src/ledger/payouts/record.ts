import { digitsOf, type Money } from '../../money.ts';
import {
  AMOUNT_TYPES,
  type CostLimit,
  DECISIONS,
  type HistoryEntry,
  type Payout,
  type PayoutRow,
  type PayoutState,
  type Proposal,
  type RefusedRow,
  SOURCES_OF_CASH,
} from '../../payout.ts';
import { LedgerFault } from '../script.ts';
import type { Seals } from '../seals.ts';
import { type StoredPayout, type StoredStep, stateOfLetter } from './stored.ts';
import { costLimitText, SEPARATOR } from './values.ts';

/** The fields of a valid row as they are recorded, with the row's seal, and its cost limit where it has one. */
export function rowFields(
  row: PayoutRow,
  seal: string,
  costLimit?: { readonly limit: CostLimit; readonly seal: string },
): Record<string, string> {
  const cells = {
    org: row.originatorIdentityId,
    sco: row.sourceCountry,
    dco: row.destinationCountry,
    poc: row.payoutCategory,
    pic: row.payinCategory,
    pur: row.purposeCode,
    soc: row.sourceOfCash,
  };
  return {
    ref: row.reference,
    ben: row.beneficiaryIdentityId,
    amt: row.amount.minor.toString(),
    typ: row.amountType === 'SOURCE_AMOUNT' ? 'S' : 'D',
    src: row.sourceCurrency,
    dst: row.destinationCurrency,
    rh: seal,
    ...(costLimit === undefined ? {} : { cx: costLimitText(costLimit) }),
    ...Object.fromEntries(Object.entries(cells).filter((entry): entry is [string, string] => entry[1] !== null)),
  };
}

/** All that a row says, beside its seal and its cost limit. */
export const ROW_PLACES = [
  'ref',
  'ben',
  'amt',
  'typ',
  'src',
  'dst',
  'org',
  'sco',
  'dco',
  'poc',
  'pic',
  'pur',
  'soc',
] as const;

/** The fields of a row that intake refused. */
export function refusedFields(row: RefusedRow): Record<string, string> {
  const amount: Record<string, string> =
    row.amount === null
      ? {}
      : { amt: row.amount.minor.toString(), typ: 'S', src: row.amount.currency, dst: row.amount.currency };
  return { ...amount, cells: JSON.stringify(row.cells), code: row.code, msg: row.message };
}

/** A record that was restored from an intent log and lacks its row until its file is recorded again. */
export interface RowlessPayout {
  readonly runId: string;
  readonly line: number;
  readonly rowless: true;
}

/**
 * Reads a record. Undefined for one that is not there. Throws a LedgerFault for a damaged one. A proposal whose seal is not
 * true is left out of it.
 */
export function readRecord(
  stored: StoredPayout | undefined,
  place: { runId: string; line: number },
  seals: Pick<Seals, 'judgeProposal'>,
): Payout | RefusedRow | RowlessPayout | undefined {
  if (stored === undefined) return undefined;
  if (stored.state === 'refused') return readRefused(stored.values, place.line);
  if (!stored.values.has('rh')) return { ...place, rowless: true };
  return withTrueProposal(readPayout({ ...stored, state: stored.state }, place), seals);
}

/** The amount that a record adds to the counters of its run; undefined where it has none. */
export function amountOf(values: Fields): { readonly minor: string; readonly currency: string } | undefined {
  const minor = values.get('amt');
  return minor === undefined
    ? undefined
    : { minor, currency: values.get(values.get('typ') === 'S' ? 'src' : 'dst') ?? '' };
}

type Fields = ReadonlyMap<string, string>;

function readRefused(fields: Fields, line: number): RefusedRow {
  const cells: unknown = JSON.parse(fields.get('cells') ?? '{}');
  return {
    line,
    cells: Object.fromEntries(Object.entries(cells ?? {}).map(([column, cell]) => [column, String(cell)])),
    amount: fields.has('amt') ? money(fields, 'amt', need(fields, 'src')) : null,
    code: fields.get('code') ?? '',
    message: fields.get('msg') ?? '',
  };
}

function readRow(fields: Fields, line: number): PayoutRow {
  const amountType = AMOUNT_TYPES[fields.get('typ') === 'S' ? 0 : 1];
  const sourceCurrency = need(fields, 'src');
  const destinationCurrency = need(fields, 'dst');
  const currency = amountType === 'SOURCE_AMOUNT' ? sourceCurrency : destinationCurrency;
  const amount = money(fields, 'amt', currency);
  if (amount === null) throw new LedgerFault(`the record of line ${line} has no amount`);
  return {
    line,
    reference: need(fields, 'ref'),
    beneficiaryIdentityId: need(fields, 'ben'),
    originatorIdentityId: optional(fields, 'org'),
    amount,
    amountType,
    sourceCurrency,
    destinationCurrency,
    sourceCountry: optional(fields, 'sco'),
    destinationCountry: optional(fields, 'dco'),
    payoutCategory: optional(fields, 'poc'),
    payinCategory: optional(fields, 'pic'),
    purposeCode: optional(fields, 'pur'),
    sourceOfCash: SOURCES_OF_CASH.find((value) => value === fields.get('soc')) ?? null,
  };
}

function readPayout(
  { version, state, history, values: fields }: StoredPayout & { readonly state: PayoutState },
  { runId, line }: { runId: string; line: number },
): Payout {
  const row = readRow(fields, line);
  const quoteId = optional(fields, 'q');
  const armedAt = integer(fields, 'aa');
  const proposed = readProposal(fields.get('pr'));
  const hasPayment = ['accepted', 'completed', 'failed', 'returned'].includes(state);
  return {
    runId,
    line,
    row,
    seals: {
      row: need(fields, 'rh'),
      costLimit: fields.get('cx')?.split(' ')[3] ?? (fields.has('cx') ? '' : null),
      beyondLimits: optional(fields, 'al'),
      quote: optional(fields, 'qs'),
      proposal: proposed?.seal ?? null,
    },
    version,
    state,
    quoteId,
    quoteExpiresAt: integer(fields, 'x'),
    quoteLifeMs: integer(fields, 'ql'),
    attempts: count(fields, 'at'),
    armings: count(fields, 'ar'),
    quotes: count(fields, 'qn'),
    armingCounter: count(fields, 'ct'),
    armedBy: optional(fields, 'by'),
    armedAt,
    credentials: optional(fields, 'cf'),
    notFoundAt: integer(fields, 'nf'),
    seen2xx: fields.has('z2'),
    rejectionConfirmed: fields.has('ok'),
    givenUp: fields.has('gu'),
    costLimit: readCostLimit(fields.get('cx')),
    quoteFailures: count(fields, 'qf'),
    lookUps: count(fields, 'lu'),
    paymentId: fields.get('pid') ?? (hasPayment ? quoteId : null),
    paymentState: optional(fields, 'ps'),
    sourceAmount: money(fields, 'sam', row.sourceCurrency),
    destinationAmount: money(fields, 'dam', row.destinationCurrency),
    rate: optional(fields, 'rt'),
    fees: readFees(fields.get('fe') ?? ''),
    reasonCode: optional(fields, 'rc'),
    reason: optional(fields, 'rs'),
    quotedAt: integer(fields, 'qa'),
    sentAt: quoteId === null ? null : armedAt,
    settledAt: integer(fields, 'st'),
    proposal: proposed?.proposal ?? null,
    history: readHistory(history),
  };
}

function readCostLimit(text: string | undefined): CostLimit | null {
  if (text === undefined || text.startsWith('-')) return null;
  const [debited = '', arrives = '', driftBp = ''] = text.split(' ');
  return { debited: BigInt(debited), arrives: BigInt(arrives), driftBp: BigInt(driftBp) };
}

function readHistory(steps: readonly StoredStep[]): HistoryEntry[] {
  let at = 0;
  let by = '';
  return steps.map(([letter, ms, actor, reason = '', exchange = '']) => {
    at += ms;
    if (actor !== 0) by = actor;
    const to = stateOfLetter(letter);
    if (to === 'refused') throw new LedgerFault('a payout was refused in its history');
    return { to, at, actor: by, reason, exchange };
  });
}

function readProposal(text: string | undefined): { proposal: Proposal; seal: string } | undefined {
  if (text === undefined) return undefined;
  const [word, by = '', at = '', paymentId = '', reason = '', seen = '', seal = ''] = text.split(SEPARATOR);
  const decision = DECISIONS.find((known) => known === word);
  if (decision === undefined) throw new LedgerFault(`a record proposes ${JSON.stringify(word)}`);
  return { proposal: { decision, by, at: Number.parseInt(at, 10), paymentId, reason, seen }, seal };
}

/** The payout without a proposal that is not as payrun wrote it; its seal stays, and tells that there was one. */
function withTrueProposal(payout: Payout, seals: Pick<Seals, 'judgeProposal'>): Payout {
  const { proposal, seals: given } = payout;
  if (proposal === null || seals.judgeProposal(given.proposal ?? '', payout, proposal) === 'true') return payout;
  return { ...payout, proposal: null };
}

function readFees(text: string): Money[] {
  if (text === '') return [];
  return text.split(',').map((fee) => {
    const [amount = '', currency = ''] = fee.split(' ');
    const [minor = '', digits] = amount.split('/');
    return { minor: BigInt(minor), currency, ...(digits === undefined ? {} : { digits: Number.parseInt(digits, 10) }) };
  });
}

function need(fields: Fields, name: string): string {
  const value = fields.get(name);
  if (value === undefined) throw new LedgerFault(`a record lacks its field ${name}`);
  return value;
}

function optional(fields: Fields, name: string): string | null {
  return fields.get(name) ?? null;
}

function count(fields: Fields, name: string): number {
  return integer(fields, name) ?? 0;
}

function integer(fields: Fields, name: string): number | null {
  const value = fields.get(name);
  if (value === undefined || value === '') return null;
  const number = Number.parseInt(value, 10);
  if (!Number.isSafeInteger(number)) throw new LedgerFault(`a record's field ${name} is no integer`);
  return number;
}

function money(fields: Fields, name: string, currency: string): Money | null {
  const value = fields.get(name);
  if (value === undefined) return null;
  if (digitsOf(currency) === undefined || !/^[0-9]+$/.test(value))
    throw new LedgerFault(`a record's ${name} is no amount`);
  return { minor: BigInt(value), currency };
}
