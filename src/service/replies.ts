import {
  cleaned,
  currency,
  decimal,
  identifier,
  instant,
  internalId,
  isList,
  type Json,
  objectOf,
  optional,
  type Read,
  readable,
  shown,
  statusCode,
  textLike,
  uuid,
  word,
} from './reply-fields.ts';

/*
 * What the service answers, as far as we use it. Unknown fields are passed over and unknown states kept as they are. A
 * quote is about to be paid, so one that shows something unreadable is no quote at all; a payment exists already, so
 * what is unreadable of it counts as not shown.
 */

export interface TokenReply {
  readonly accessToken: string;
  /** Seconds; null when missing, no number, or not above 0. */
  readonly expiresIn: number | null;
}

/** Decimal text and an upper-case currency, as the service named them. */
export interface Fee {
  readonly amount: string;
  readonly currency: string;
}

export interface QuoteReply {
  /** UUID in lower case. */
  readonly quoteId: string;
  /** ACTIVE, EXPIRED, or a word that we do not know; null when it is not shown. */
  readonly status: string | null;
  readonly sourceCurrency: string | null;
  readonly destinationCurrency: string | null;
  /** Decimal text. */
  readonly sourceAmount: string | null;
  readonly destinationAmount: string | null;
  readonly rate: string | null;
  /** Total fees, then total taxes. */
  readonly fees: readonly Fee[];
  /** Milliseconds since 1970. */
  readonly expiresAt: number | null;
}

/**
 * One error of an error body. Meant for people and for tables of codes; a decision is never made on the title or the
 * description, which says what is wrong with this very request.
 */
export interface ErrorEntry {
  readonly code: string | null;
  readonly type: string | null;
  readonly title: string | null;
  readonly description: string | null;
  readonly status: number | null;
}

export interface PaymentReply {
  readonly paymentId: string;
  /** The service's own word; null when it is not shown. */
  readonly paymentState: string | null;
  /** Identity ids in lower case. */
  readonly beneficiaryIdentityId: string | null;
  readonly originatorIdentityId: string | null;
  readonly internalId: string | null;
  readonly quoteId: string | null;
  readonly sourceCurrency: string | null;
  readonly sourceAmount: string | null;
  readonly destinationCurrency: string | null;
  readonly destinationAmount: string | null;
  readonly rate: string | null;
  readonly fees: readonly Fee[];
  readonly errors: readonly ErrorEntry[];
  /** Milliseconds since 1970. */
  readonly lastStateUpdatedAt: number | null;
}

export interface IdentityReply {
  /** UUID in lower case. */
  readonly identityId: string;
  readonly nickName: string | null;
  readonly identityType: string | null;
}

const IDENTITIES_MAX = 10_000;
const BALANCES_MAX = 1000;
const NOTHING: Json = {};

const title = cleaned(200);
const description = cleaned(300);

// Goes into a header; its length is nobody's business (interface page, section 8).
const accessToken = textLike(/^[\x21-\x7e]+$/);
const seconds: Read<number> = (value) =>
  typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : undefined;

/** A reply of the token endpoint (interface page, section 2.3); undefined when it holds no usable token. */
export function parseToken(json: unknown): TokenReply | undefined {
  const reply = objectOf(json) ?? NOTHING;
  const token = accessToken(reply['access_token']);
  return token === undefined ? undefined : { accessToken: token, expiresIn: shown(reply['expires_in'], seconds) };
}

/** Reads an entry of a list of fees or taxes. */
function feeOf(amountField: string, currencyField: string): Read<Fee> {
  return (json) => {
    const entry = objectOf(json) ?? NOTHING;
    const amount = decimal(entry[amountField]);
    const named = currency(entry[currencyField]);
    return amount === undefined || named === undefined ? undefined : { amount, currency: named };
  };
}

const fee = feeOf('totalFee', 'feeCurrency');
const tax = feeOf('totalTaxes', 'taxCurrency');
const rate: Read<string> = (json) => decimal(objectOf(json)?.['adjustedRate']);

function feesOf({ fees, taxes }: Json): Fee[] {
  return [...readable(fees, fee), ...readable(taxes, tax)];
}

const quote: Read<QuoteReply> = (json) => {
  const reply = objectOf(json) ?? NOTHING;
  const quoteId = uuid(reply['quoteId']);
  const sourceCurrency = optional(reply['sourceCurrency'], currency);
  const destinationCurrency = optional(reply['destinationCurrency'], currency);
  const sourceAmount = optional(reply['sourceAmount'], decimal);
  const destinationAmount = optional(reply['destinationAmount'], decimal);
  if (quoteId === undefined || sourceCurrency === undefined || destinationCurrency === undefined) return undefined;
  if (sourceAmount === undefined || destinationAmount === undefined) return undefined;
  return {
    quoteId,
    status: shown(reply['quoteStatus'], word),
    sourceCurrency,
    destinationCurrency,
    sourceAmount,
    destinationAmount,
    rate: shown(reply['adjustedExchangeRate'], rate),
    fees: feesOf(reply),
    expiresAt: shown(reply['expiresAt'], instant),
  };
};

/**
 * The quotes of a quote collection, unreadable ones left out; undefined when the reply is no
 * quote collection.
 */
export function parseQuotes(json: unknown): QuoteReply[] | undefined {
  const quotes = collectionOf(json);
  return quotes && readable(quotes, quote);
}

/** The page says only that the reply contains a quote object: a collection of quotes, or one quote. */
function collectionOf(json: unknown): readonly unknown[] | undefined {
  if (isList(json)) return json.length > 0 && json.every(isQuote) ? json : undefined;
  const reply = objectOf(json);
  if (reply === undefined) return undefined;
  const { quotes } = reply;
  if (isList(quotes)) return quotes;
  if ('quote' in reply) return [reply['quote']];
  return isQuote(reply) ? [reply] : undefined;
}

function isQuote(json: unknown): boolean {
  return typeof objectOf(json)?.['quoteId'] === 'string';
}

/** An identity id, in lower case because ours are. */
const identityId: Read<string> = (value) => identifier(value)?.toLowerCase();

/**
 * A payment as `POST /v2/payments` and `GET /v2/payments/{id}` show it; undefined when
 * it has no payment id. The request carries both identities and `internalId` at the top, the reply shows them inside
 * `originator` and `destination`.
 */
export function parsePayment(json: unknown): PaymentReply | undefined {
  const reply = objectOf(json) ?? NOTHING;
  const id = identifier(reply['paymentId']);
  if (id === undefined) return undefined;
  const originator = objectOf(reply['originator']) ?? NOTHING;
  const destination = objectOf(reply['destination']) ?? NOTHING;
  const either = <T>(inside: Json, field: string, read: Read<T>): T | null =>
    shown(inside[field], read) ?? shown(reply[field], read);
  return {
    paymentId: uuid(id) ?? id,
    paymentState: shown(reply['paymentState'], word),
    beneficiaryIdentityId: either(destination, 'beneficiaryIdentityId', identityId),
    originatorIdentityId: either(originator, 'originatorIdentityId', identityId),
    internalId: either(originator, 'internalId', internalId),
    quoteId: shown(reply['quoteId'], uuid),
    sourceCurrency: shown(originator['sourceCurrency'], currency),
    sourceAmount: shown(originator['sourceAmount'], decimal),
    destinationCurrency: shown(destination['destinationCurrency'], currency),
    destinationAmount: shown(destination['destinationAmount'], decimal),
    rate: shown(reply['adjustedExchangeRate'], rate),
    fees: feesOf(reply),
    errors: errorEntries(reply['errors']),
    lastStateUpdatedAt: shown(reply['lastStateUpdatedAt'], instant) ?? shown(reply['updatedAt'], instant),
  };
}

const errorEntry: Read<ErrorEntry> = (json) => {
  const entry = objectOf(json) ?? NOTHING;
  const code = shown(entry['code'], word);
  const type = shown(entry['type'], word);
  if (code === null && type === null) return undefined;
  return {
    code,
    type,
    title: shown(entry['title'], title),
    description: shown(entry['description'], description),
    status: shown(entry['status'], statusCode),
  };
};

/** The entries under `errors`, an array or a single object. */
function errorEntries(json: unknown): ErrorEntry[] {
  return readable(isList(json) ? json : [json], errorEntry);
}

const oauthError = textLike(/^[a-z_]{1,64}$/);

/**
 * The errors of an error body in any of its known shapes: under `errors` as an array or a single
 * object, flat, or OAuth's `error`, whose word becomes the code. What names neither a code nor a type is no error body
 * of this service (a gateway's page, say) and gives an empty list.
 */
export function parseErrors(json: unknown): ErrorEntry[] {
  const body = objectOf(json) ?? NOTHING;
  const status = shown(body['status'], statusCode);
  const entries = errorEntries(body['errors'] ?? body);
  if (entries.length > 0) return entries.map((entry) => ({ ...entry, status: entry.status ?? status }));
  const code = shown(body['error'], oauthError);
  if (code === null) return [];
  const about = shown(body['error_description'], description);
  return [{ code, type: null, title: null, description: about, status }];
}

const identity: Read<IdentityReply> = (json) => {
  const reply = objectOf(json) ?? NOTHING;
  const id = uuid(reply['identityId']);
  if (id === undefined) return undefined;
  const nickName = shown(reply['nickName'], title);
  return { identityId: id, nickName, identityType: shown(reply['identityType'], word) };
};

/**
 * The identities of a list, unreadable ones left out; undefined when the reply is no list. The
 * service may leave identities out, so absence from the list proves nothing; none at all is a 404.
 */
export function parseIdentities(json: unknown): IdentityReply[] | undefined {
  const data = objectOf(json)?.['data'];
  return isList(data) ? readable(data, identity, IDENTITIES_MAX) : undefined;
}

/** Decimal text of what can be paid from the balance in a currency; undefined where the reply does not tell. */
export function parseBalance(json: unknown, of: string): string | undefined {
  const balances = objectOf(json)?.['balances'];
  const entries = isList(balances) ? readable(balances, objectOf, BALANCES_MAX) : [];
  return decimal(entries.find((entry) => currency(entry['currency']) === of)?.['availableBalance']);
}
