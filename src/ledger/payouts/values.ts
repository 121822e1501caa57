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
  /** Only where it is not the quote's id; null when it is that again. */
  readonly paymentId?: string | null;
  readonly paymentState?: string;
  /** Null where another payment had them. */
  readonly sourceAmount?: Money | null;
  readonly destinationAmount?: Money | null;
  readonly rate?: string | null;
  readonly fees?: readonly Money[] | null;
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

type Text = string | null | undefined;

/** Where each value stands, and as what. */
const TEXTS: Readonly<Record<keyof PayoutValues, readonly [Place, (values: PayoutValues) => Text]>> = {
  reasonCode: ['rc', ({ reasonCode }) => reasonCode],
  reason: ['rs', ({ reason }) => reason],
  notFoundAt: ['nf', ({ notFoundAt }) => textOf(notFoundAt, String)],
  seen2xx: ['z2', ({ seen2xx }) => textOf(seen2xx, yes)],
  rejectionConfirmed: ['ok', ({ rejectionConfirmed }) => textOf(rejectionConfirmed, yes)],
  lookUps: ['lu', ({ lookUps }) => textOf(lookUps, String)],
  quoteFailures: ['qf', ({ quoteFailures }) => textOf(quoteFailures, String)],
  paymentId: ['pid', ({ paymentId }) => paymentId],
  paymentState: ['ps', ({ paymentState }) => paymentState],
  sourceAmount: ['sam', ({ sourceAmount }) => textOf(sourceAmount, minorOf)],
  destinationAmount: ['dam', ({ destinationAmount }) => textOf(destinationAmount, minorOf)],
  rate: ['rt', ({ rate }) => rate],
  fees: ['fe', ({ fees }) => textOf(fees, feesText)],
  quotedAt: ['qa', ({ quotedAt }) => textOf(quotedAt, String)],
  quoteLifeMs: ['ql', ({ quoteLifeMs }) => textOf(quoteLifeMs, String)],
  quoteSeal: ['qs', ({ quoteSeal }) => quoteSeal],
  armedAt: ['aa', ({ armedAt }) => textOf(armedAt, String)],
  beyondLimits: ['al', ({ beyondLimits }) => beyondLimits],
  costLimit: ['cx', ({ costLimit }) => textOf(costLimit, costLimitText)],
  proposal: ['pr', ({ proposal }) => textOf(proposal, proposalText)],
  referenceHash: ['rfh', ({ referenceHash }) => referenceHash],
  givenUp: ['gu', ({ givenUp }) => textOf(givenUp, yes)],
};
const TEXT_OF = new Map(Object.entries(TEXTS));

/** The same by the names of places (stored.ts); null for what is taken away. Only what is given is looked at. */
export function valueTexts(values: PayoutValues = {}): ReadonlyMap<Place, string | null> {
  const texts = new Map<Place, string | null>();
  for (const name of Object.keys(values)) {
    const [place, textIn] = TEXT_OF.get(name) ?? [];
    const text = textIn?.(values);
    if (place !== undefined && text !== undefined) texts.set(place, text);
  }
  return texts;
}

function textOf<T>(value: T | null | undefined, text: (value: T) => string): Text {
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
