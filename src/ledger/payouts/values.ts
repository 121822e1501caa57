import type { Money } from '../../money.ts';
import type { CostLimit, Proposal } from '../../payout.ts';
import type { PLACES } from './stored.ts';

/** What an act gives a payout's record. What is left out stays; null takes it away. Times in milliseconds since 1970. */
export interface PayoutValues {
  readonly reasonCode?: string | null;
  readonly reason?: string | null;
  /** The first "not found" that counts. */
  readonly notFoundAt?: number | null;
  /** The service began to say yes to the quote. */
  readonly seen2xx?: true | null;
  readonly rejectionConfirmed?: true;
  readonly lookUps?: number;
  /** Quotes that failed in a row. */
  readonly quoteFailures?: number | null;
  /** Only where it is not the quote's id. */
  readonly paymentId?: string;
  readonly paymentState?: string;
  readonly sourceAmount?: Money;
  readonly destinationAmount?: Money;
  readonly rate?: string;
  readonly fees?: readonly Money[];
  readonly quotedAt?: number;
  readonly quoteLifeMs?: number;
  readonly quoteSeal?: string;
  readonly armedAt?: number;
  /** The seal of two people's word that no limit counts for it. */
  readonly beyondLimits?: string;
  /** Null for a limit that people lifted. */
  readonly costLimit?: { readonly limit: CostLimit | null; readonly seal: string };
  readonly proposal?: { readonly proposal: Proposal; readonly seal: string } | null;
  /** Of the reference of a suspected duplicate. */
  readonly referenceHash?: string;
  /** People gave it up, and Redis forgot that. */
  readonly givenUp?: true;
}

type Place = (typeof PLACES)[number];

export const SEPARATOR = '\u001f';

/** The same by the names of places (stored.ts); null for what is taken away. */
export function valueTexts(values: PayoutValues = {}): ReadonlyMap<Place, string | null> {
  const texts: readonly (readonly [Place, string | null | undefined])[] = [
    ['rc', values.reasonCode],
    ['rs', values.reason],
    ['nf', textOf(values.notFoundAt, String)],
    ['z2', textOf(values.seen2xx, yes)],
    ['ok', textOf(values.rejectionConfirmed, yes)],
    ['lu', textOf(values.lookUps, String)],
    ['qf', textOf(values.quoteFailures, String)],
    ['pid', values.paymentId],
    ['ps', values.paymentState],
    ['sam', textOf(values.sourceAmount, minorOf)],
    ['dam', textOf(values.destinationAmount, minorOf)],
    ['rt', values.rate],
    ['fe', textOf(values.fees, feesText)],
    ['qa', textOf(values.quotedAt, String)],
    ['ql', textOf(values.quoteLifeMs, String)],
    ['qs', values.quoteSeal],
    ['aa', textOf(values.armedAt, String)],
    ['al', values.beyondLimits],
    ['cx', textOf(values.costLimit, costLimitText)],
    ['pr', textOf(values.proposal, proposalText)],
    ['rfh', values.referenceHash],
    ['gu', textOf(values.givenUp, yes)],
  ];
  return new Map(texts.filter((entry): entry is [Place, string | null] => entry[1] !== undefined));
}

function textOf<T>(value: T | null | undefined, text: (value: T) => string): string | null | undefined {
  if (value === undefined) return undefined;
  return value === null ? null : text(value);
}

function yes(): string {
  return '1';
}

function minorOf({ minor }: Money): string {
  return minor.toString();
}

function feesText(fees: readonly Money[]): string {
  return fees
    .map(({ minor, currency, digits }) => `${minor}${digits === undefined ? '' : `/${digits}`} ${currency}`)
    .join(',');
}

/** A cost limit as the record keeps it, with its seal. */
export function costLimitText({ limit, seal }: { readonly limit: CostLimit | null; readonly seal: string }): string {
  return `${limit === null ? '- - -' : `${limit.debited} ${limit.arrives} ${limit.driftBp}`} ${seal}`;
}

function proposalText({ proposal, seal }: { readonly proposal: Proposal; readonly seal: string }): string {
  const { decision, by, at, paymentId, reason, seen } = proposal;
  return [decision, by, at, paymentId, reason, seen, seal].join(SEPARATOR);
}
