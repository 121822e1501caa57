import { codeOf } from '../refusal.ts';

/** What came of one request to the service. Nothing is concluded from it here; the caller decides (architecture.md). */
export type Answer =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** The `Date` header in milliseconds since 1970; null when it is missing, doubled or not in the form of RFC 9110. */
      readonly date: number | null;
      /** A cache kept it, by its `Age` header (RFC 9111, section 5.1): it was true then. */
      readonly isFromCache?: true;
      /** The `Retry-After` header as it stands. */
      readonly retryAfter: string | null;
      /** The parsed body; undefined when it is empty or is not JSON. */
      readonly json: unknown;
      /** Its body is a page, which a gateway answers in the place of the service. */
      readonly isPage?: true;
      /** From `requestIdOf`. */
      readonly requestId: string | null;
    }
  /** No byte of the request left this process. */
  | { readonly kind: 'not-sent'; readonly reason: string; readonly certificate: boolean }
  /** The request may have arrived; `status` and `requestId` are set when the response began before the loss. */
  | {
      readonly kind: 'lost';
      readonly reason: string;
      readonly status: number | null;
      readonly requestId?: string | null;
    };

/** Response headers by lower-case name; a repeated one is an array. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

const HEADER_TEXT_MAX = 64;
const ID_HEADERS = ['x-request-id', 'x-correlation-id'];

/** The answer of a response that was read to its end. */
export function answerOf(status: number, headers: ResponseHeaders, body: Buffer): Answer {
  const date = headers['date'];
  const json = parseJson(body);
  return {
    kind: 'answered',
    status,
    date: typeof date === 'string' ? dateOf(date) : null,
    ...(isStored(headers['age']) ? { isFromCache: true } : {}),
    retryAfter: headerText(headers['retry-after']),
    json,
    ...(json === undefined && isPage(body) ? { isPage: true } : {}),
    requestId: requestIdOf(headers),
  };
}

/** An answer that comes straight from the service has no age, or none to speak of. */
function isStored(age: ResponseHeaders[string]): boolean {
  return age !== undefined && age !== '0';
}

/**
 * What the service calls the exchange, for its support desk: `x-request-id: r1, x-correlation-id: c1`, or one of them;
 * null where the response names neither. Printable ASCII, each id at most 64 characters.
 */
export function requestIdOf(headers: ResponseHeaders): string | null {
  let ids: string | null = null;
  for (const name of ID_HEADERS) {
    const id = headerText(headers[name]);
    if (id !== null) ids = ids === null ? `${name}: ${id}` : `${ids}, ${name}: ${id}`;
  }
  return ids;
}

/** An answer for a request of which no byte left. */
export function notSent(reason: string, certificate = false): Answer {
  return { kind: 'not-sent', reason, certificate };
}

/**
 * Milliseconds since 1970 of an HTTP date in its one current form, IMF-fixdate (RFC 9110 section 5.6.7); null for
 * anything else, so that no clever parser ever dates an answer that proves a quote dead.
 */
export function httpDate(text: string): number | null {
  const epochMs = Date.parse(text);
  return !Number.isNaN(epochMs) && new Date(epochMs).toUTCString() === text ? epochMs : null;
}

/** All answers of a second have the same text. */
let latestDate: { readonly text: string; readonly epochMs: number | null } = { text: '', epochMs: null };

function dateOf(text: string): number | null {
  if (latestDate.text !== text) latestDate = { text, epochMs: httpDate(text) };
  return latestDate.epochMs;
}

function headerText(value: string | readonly string[] | undefined): string | null {
  const text = typeof value === 'string' ? value : value?.[0];
  return text === undefined ? null : text.replace(/[^\x20-\x7e]/g, '').slice(0, HEADER_TEXT_MAX);
}

const PAGE_BEGINS_WITHIN = 64;

/** Whether it is HTML or XML. Other text may be the service's own word of a request. */
function isPage(body: Buffer): boolean {
  return body.toString('latin1', 0, PAGE_BEGINS_WITHIN).trimStart().startsWith('<');
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  try {
    const json: unknown = JSON.parse(body.toString('utf8'));
    return json;
  } catch {
    return undefined;
  }
}

/** OpenSSL's and Node's words for a certificate that does not verify (`tls` documentation, X509 certificate error codes). */
const CERTIFICATE_CODES: ReadonlySet<string> = new Set([
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_TLS_CERT_ALTNAME_FORMAT',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_GET_CRL',
  'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  'UNABLE_TO_DECRYPT_CRL_SIGNATURE',
  'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CRL_SIGNATURE_FAILURE',
  'CERT_NOT_YET_VALID',
  'CERT_HAS_EXPIRED',
  'CRL_NOT_YET_VALID',
  'CRL_HAS_EXPIRED',
  'ERROR_IN_CERT_NOT_BEFORE_FIELD',
  'ERROR_IN_CERT_NOT_AFTER_FIELD',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'CERT_CHAIN_TOO_LONG',
  'CERT_REVOKED',
  'INVALID_CA',
  'PATH_LENGTH_EXCEEDED',
  'INVALID_PURPOSE',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'HOSTNAME_MISMATCH',
]);

/** The forward proxy made no connection to the service, for the reason in `cause`. */
export class ProxyFailure extends Error {
  override readonly name = 'ProxyFailure';
}

/** Why an exchange failed, as a short code for reports and logs; never the error's message. */
export function failureOf(error: unknown): { readonly reason: string; readonly certificate: boolean } {
  if (error instanceof ProxyFailure) {
    const { reason, certificate } = failureOf(error.cause);
    return { reason: `proxy ${reason}`, certificate };
  }
  const code = codeOf(error) ?? 'failed';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return { reason: 'connect time-out', certificate: false };
  if (CERTIFICATE_CODES.has(code)) return { reason: `TLS ${code}`, certificate: true };
  const tls = code === 'EPROTO' || code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS');
  return { reason: tls ? `TLS ${code}` : code, certificate: false };
}

/** What people are told of a failure whose code only the library knows. */
export function faultWords(reason: string): string {
  if (reason === 'UND_ERR_SOCKET') return 'the connection was closed without an answer';
  if (reason === 'UND_ERR_HEADERS_TIMEOUT' || reason === 'UND_ERR_BODY_TIMEOUT') return 'no answer came in time';
  return reason.startsWith('HPE_') ? 'what answers speaks no HTTP' : reason;
}
