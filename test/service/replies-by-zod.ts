import { z } from 'zod';
import { decimalOfNumber } from '../../src/money.ts';
import type {
  ErrorEntry,
  Fee,
  IdentityReply,
  PaymentReply,
  QuoteReply,
  TokenReply,
} from '../../src/service/replies.ts';

/*
 * The same readers as schemas, to compare the written ones with.
 */

const WORD_MAX = 64;
const TITLE_MAX = 200;
const DESCRIPTION_MAX = 300;
/** What is replaced or takes two code units is more than one character of what is cut at first. */
const CUT_FIRST = 4;
const ID_MAX = 128;
const ENTRIES_MAX = 20;
const IDENTITIES_MAX = 10_000;

/** Text of the service for people: without control and format characters, and of at most so many characters. */
function cleaned(max: number): z.ZodType<string, string> {
  return z
    .string()
    .min(1)
    .transform((text) => cut(text.slice(0, CUT_FIRST * max).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' '), max));
}

/** Never between the two halves of a character. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : Array.from(text).slice(0, max).join('');
}

/** Null when the field is missing or null; an unreadable one fails. */
function optional<T>(schema: z.ZodType<T>): z.ZodType<T | null> {
  return schema.nullish().transform((value) => value ?? null);
}

/** Null when the field is missing, null or unreadable. */
function shown<T>(schema: z.ZodType<T>): z.ZodType<T | null> {
  return optional(schema).catch(null);
}

const uuid = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i)
  .transform((text) => text.toLowerCase());
const identifier = z
  .string()
  .regex(/^[\x21-\x7e]+$/)
  .max(ID_MAX);
const word = cleaned(WORD_MAX);
const currency = z
  .string()
  .regex(/^[a-zA-Z]{3,5}$/)
  .transform((text) => text.toUpperCase());
const decimal = z.union([
  z.number().transform(decimalOfNumber).pipe(z.string()),
  z.string().regex(/^[0-9]{1,24}(\.[0-9]{1,24})?$/),
]);
/** RFC 3339; a time without a zone is no time. */
const instant = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/i)
  .transform((text) => Date.parse(text.toUpperCase()))
  .refine((epochMs) => !Number.isNaN(epochMs));

/** A number, or in some bodies its text. */
const statusCode = z.union([
  z.number().int(),
  z
    .string()
    .regex(/^[1-5][0-9]{2}$/)
    .transform((text) => Number.parseInt(text, 10)),
]);
const errorSchema = z
  .object({
    code: shown(word),
    type: shown(word),
    title: shown(cleaned(TITLE_MAX)),
    description: shown(cleaned(DESCRIPTION_MAX)),
    status: shown(statusCode),
  })
  .refine(({ code, type }) => code !== null || type !== null)
  .transform((entry): ErrorEntry => entry);
const errorBodySchema = z.object({
  errors: z.unknown().optional(),
  status: shown(statusCode),
  error: shown(z.string().regex(/^[a-z_]{1,64}$/)),
  error_description: shown(cleaned(DESCRIPTION_MAX)),
});

const fee = z
  .object({ totalFee: decimal, feeCurrency: currency })
  .transform(({ totalFee, feeCurrency }): Fee => ({ amount: totalFee, currency: feeCurrency }));
const tax = z
  .object({ totalTaxes: decimal, taxCurrency: currency })
  .transform(({ totalTaxes, taxCurrency }): Fee => ({ amount: totalTaxes, currency: taxCurrency }));
const rate = z.object({ adjustedRate: decimal }).transform(({ adjustedRate }) => adjustedRate);

/** The readable entries of a list, at most `max` of them. */
function readable<T>(json: unknown, schema: z.ZodType<T>, max: number): T[] {
  if (!Array.isArray(json)) return [];
  return json.slice(0, max).flatMap((entry) => {
    const parsed = schema.safeParse(entry);
    return parsed.success ? [parsed.data] : [];
  });
}

function list<T>(schema: z.ZodType<T>): z.ZodType<T[]> {
  return z
    .unknown()
    .optional()
    .transform((json) => readable(json, schema, ENTRIES_MAX));
}

const tokenSchema = z
  .object({
    // Goes into a header; its length is nobody's business (interface page, section 8).
    access_token: z.string().regex(/^[\x21-\x7e]+$/),
    expires_in: shown(z.number().positive()),
  })
  .transform((reply): TokenReply => ({ accessToken: reply.access_token, expiresIn: reply.expires_in }));

/** A reply of the token endpoint (interface page, section 2.3); undefined when it holds no usable token. */
export function parseToken(json: unknown): TokenReply | undefined {
  return tokenSchema.safeParse(json).data;
}

const quoteSchema = z
  .object({
    quoteId: uuid,
    quoteStatus: shown(word),
    sourceCurrency: optional(currency),
    destinationCurrency: optional(currency),
    sourceAmount: optional(decimal),
    destinationAmount: optional(decimal),
    adjustedExchangeRate: shown(rate),
    fees: list(fee),
    taxes: list(tax),
    expiresAt: shown(instant),
  })
  .transform(
    ({ quoteStatus, adjustedExchangeRate, fees, taxes, ...quote }): QuoteReply => ({
      ...quote,
      status: quoteStatus,
      rate: adjustedExchangeRate,
      fees: [...fees, ...taxes],
    }),
  );
/** The page says only that the reply contains a quote object: a collection of quotes, or one quote. */
const collectionSchema = z.union([
  z.object({ quotes: z.array(z.unknown()) }),
  z.object({ quote: z.unknown() }).transform(({ quote }) => ({ quotes: [quote] })),
  z.looseObject({ quoteId: z.string() }).transform((quote) => ({ quotes: [quote] })),
  z
    .array(z.looseObject({ quoteId: z.string() }))
    .min(1)
    .transform((quotes) => ({ quotes })),
]);

/**
 * The quotes of a quote collection, unreadable ones left out; undefined when the reply is no
 * quote collection.
 */
export function parseQuotes(json: unknown): QuoteReply[] | undefined {
  const collection = collectionSchema.safeParse(json).data;
  return collection && readable(collection.quotes, quoteSchema, ENTRIES_MAX);
}

/** An identity id, in lower case because ours are. */
const identityId = identifier.transform((text) => text.toLowerCase());
const internalId = z.string().max(ID_MAX);
const originatorSchema = z.object({
  originatorIdentityId: shown(identityId),
  internalId: shown(internalId),
  sourceCurrency: shown(currency),
  sourceAmount: shown(decimal),
});
const destinationSchema = z.object({
  beneficiaryIdentityId: shown(identityId),
  destinationCurrency: shown(currency),
  destinationAmount: shown(decimal),
});
const paymentSchema = z.object({
  paymentId: identifier.transform((text) => uuid.safeParse(text).data ?? text),
  paymentState: shown(word),
  quoteId: shown(uuid),
  // The request carries these three at the top, the reply shows them inside the two objects that follow.
  beneficiaryIdentityId: shown(identityId),
  originatorIdentityId: shown(identityId),
  internalId: shown(internalId),
  originator: originatorSchema.catch(originatorSchema.parse({})),
  destination: destinationSchema.catch(destinationSchema.parse({})),
  adjustedExchangeRate: shown(rate),
  fees: list(fee),
  taxes: list(tax),
  errors: z.unknown().optional().transform(errorEntries),
  lastStateUpdatedAt: shown(instant),
  updatedAt: shown(instant),
});

/**
 * A payment as `POST /v2/payments` and `GET /v2/payments/{id}` show it; undefined when
 * it has no payment id.
 */
export function parsePayment(json: unknown): PaymentReply | undefined {
  const payment = paymentSchema.safeParse(json).data;
  if (payment === undefined) return undefined;
  const { originator, destination } = payment;
  return {
    paymentId: payment.paymentId,
    paymentState: payment.paymentState,
    beneficiaryIdentityId: destination.beneficiaryIdentityId ?? payment.beneficiaryIdentityId,
    originatorIdentityId: originator.originatorIdentityId ?? payment.originatorIdentityId,
    internalId: originator.internalId ?? payment.internalId,
    quoteId: payment.quoteId,
    sourceCurrency: originator.sourceCurrency,
    sourceAmount: originator.sourceAmount,
    destinationCurrency: destination.destinationCurrency,
    destinationAmount: destination.destinationAmount,
    rate: payment.adjustedExchangeRate,
    fees: [...payment.fees, ...payment.taxes],
    errors: payment.errors,
    lastStateUpdatedAt: payment.lastStateUpdatedAt ?? payment.updatedAt,
  };
}

/** The entries under `errors`, an array or a single object. */
function errorEntries(json: unknown): ErrorEntry[] {
  return readable(Array.isArray(json) ? json : [json], errorSchema, ENTRIES_MAX);
}

/**
 * The errors of an error body in any of its known shapes: under `errors` as an array or a single
 * object, flat, or OAuth's `error`, whose word becomes the code. What names neither a code nor a type is no error body
 * of this service (a gateway's page, say) and gives an empty list.
 */
export function parseErrors(json: unknown): ErrorEntry[] {
  const body = errorBodySchema.safeParse(json).data;
  if (body === undefined) return [];
  const entries = errorEntries(body.errors ?? json);
  if (entries.length > 0) return entries.map((entry) => ({ ...entry, status: entry.status ?? body.status }));
  if (body.error === null) return [];
  return [{ code: body.error, type: null, title: null, description: body.error_description, status: body.status }];
}

const identitySchema = z
  .object({ identityId: uuid, nickName: shown(cleaned(TITLE_MAX)), identityType: shown(word) })
  .transform((identity): IdentityReply => identity);
const identitiesSchema = z.object({ data: z.array(z.unknown()) });

/**
 * The identities of a list, unreadable ones left out; undefined when the reply is no list. The
 * service may leave identities out, so absence from the list proves nothing; none at all is a 404.
 */
export function parseIdentities(json: unknown): IdentityReply[] | undefined {
  const identities = identitiesSchema.safeParse(json).data;
  return identities && readable(identities.data, identitySchema, IDENTITIES_MAX);
}
