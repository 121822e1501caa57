import { randomUUID } from 'node:crypto';
import { type AddressInfo, createServer, type Socket } from 'node:net';

/*
 * A payments service that answers at once, or after a time, and does next to nothing else: what a benchmark measures then
 * is the payer. A process of its own (child_process.fork), told and asked by messages. Times are milliseconds since 1970.
 */

/** What it is told. */
export type ServiceOrder =
  | { readonly order: 'set'; readonly delayMs: number; readonly tokenSeconds: number; readonly perSecond: number }
  /** Forgets what was counted. */
  | { readonly order: 'reset' }
  /** Answers with ServiceCounts. */
  | { readonly order: 'count' }
  /** Answers with ServiceLog: each payment since the last reset. */
  | { readonly order: 'log' };

export interface ServiceCounts {
  readonly tokens: number;
  readonly quotes: number;
  readonly payments: number;
  /** Payment requests that were refused: more than it takes in a second. */
  readonly refused: number;
  readonly lookUps: number;
  readonly firstPaymentAt: number;
  readonly lastPaymentAt: number;
}

export interface ServiceLog {
  readonly paidAt: readonly number[];
  readonly references: readonly string[];
}

interface Quoted {
  readonly amount: number;
  readonly source: string;
  readonly destination: string;
}

const HEAD_END = '\r\n\r\n';
const RATE = 19.75;
const QUOTE_LIFE_MS = 600_000;
/** Times are kept of so many payments; references of as many. */
const LOGGED_MAX = 200_000;

let delayMs = 0;
let tokenSeconds = 3600;
let perSecond = 0;
const NOTHING: ServiceCounts = {
  tokens: 0,
  quotes: 0,
  payments: 0,
  refused: 0,
  lookUps: 0,
  firstPaymentAt: 0,
  lastPaymentAt: 0,
};
let counts: { -readonly [Name in keyof ServiceCounts]: number } = { ...NOTHING };
/** Payments of the last second, where it takes so many only. */
let lately: number[] = [];
let paidAt: number[] = [];
let references: string[] = [];
const quoted = new Map<string, Quoted>();
/** Amounts of the latest payments by their ids, for look-ups; an unknown id was paid long ago or never. */
let paid = new Map<string, string>();
let paidBefore = new Map<string, string>();
const PAID_KEPT = 100_000;

const now = (): number => performance.timeOrigin + performance.now();

let dateSecond = 0;
let dateText = '';
function date(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(second * 1000).toUTCString();
  }
  return dateText;
}

let exchanges = 0;

function answerText(status: number, body: string, header = ''): string {
  exchanges++;
  const requestId = `0b5e55ed-0000-4000-8000-${exchanges.toString(16).padStart(12, '0')}`;
  return `HTTP/1.1 ${status} OK\r\nX-Request-Id: ${requestId}\r\nDate: ${date()}\r\n${header}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function giveQuote(body: string): string {
  counts.quotes += 1;
  const asked = JSON.parse(body) as { quoteAmount: number; sourceCurrency: string; destinationCurrency: string };
  const { quoteAmount: amount, sourceCurrency: source, destinationCurrency: destination } = asked;
  const quoteId = randomUUID();
  quoted.set(quoteId, { amount, source, destination });
  const expiresAt = new Date(Date.now() + QUOTE_LIFE_MS).toISOString();
  const quote =
    `{"quoteId":"${quoteId}","quoteStatus":"ACTIVE","sourceCurrency":"${source}","destinationCurrency":"${destination}",` +
    `"sourceAmount":${amount},"destinationAmount":${(amount * RATE).toFixed(2)},"adjustedExchangeRate":{"adjustedRate":${RATE}},` +
    `"fees":[{"totalFee":2.5,"feeCurrency":"${source}"}],"expiresAt":"${expiresAt}"}`;
  return answerText(201, `{"quoteCollectionId":"${quoteId}","quotes":[${quote}]}`);
}

function isTooMuch(): boolean {
  if (perSecond === 0) return false;
  const at = now();
  lately = lately.filter((one) => one > at - 1000);
  if (lately.length >= perSecond) return true;
  lately.push(at);
  return false;
}

function pay(body: string): string {
  if (isTooMuch()) {
    counts.refused += 1;
    return answerText(429, '{"status":429}', 'Retry-After: 1\r\n');
  }
  const asked = JSON.parse(body) as { quoteId: string; internalId: string; beneficiaryIdentityId: string };
  const { quoteId, internalId, beneficiaryIdentityId } = asked;
  const quote = quoted.get(quoteId);
  if (quote === undefined) return answerText(404, '{"status":404,"errors":[{"code":"USR_011","type":"USER_ERROR"}]}');
  quoted.delete(quoteId);
  const at = now();
  counts.payments += 1;
  if (counts.payments === 1) counts.firstPaymentAt = at;
  counts.lastPaymentAt = at;
  if (paidAt.length < LOGGED_MAX) {
    paidAt.push(at);
    references.push(internalId);
  }
  const { amount, source, destination } = quote;
  const text =
    `"originator":{"internalId":"${internalId}","sourceCurrency":"${source}","sourceAmount":${amount}},` +
    `"destination":{"beneficiaryIdentityId":"${beneficiaryIdentityId}","destinationCurrency":"${destination}",` +
    `"destinationAmount":${(amount * RATE).toFixed(2)}},"adjustedExchangeRate":{"adjustedRate":${RATE}}`;
  keepPaid(quoteId, text);
  return answerText(201, `{"paymentId":"${quoteId}","paymentState":"INITIATED",${text}}`);
}

function keepPaid(id: string, text: string): void {
  if (paid.size >= PAID_KEPT) {
    paidBefore = paid;
    paid = new Map();
  }
  paid.set(id, text);
}

function lookUp(path: string): string {
  counts.lookUps += 1;
  const id = path.slice(path.lastIndexOf('/') + 1);
  // One that is quoted was never paid; one that is not known any more was paid long ago.
  if (quoted.has(id)) return answerText(404, '{"status":404,"errors":[{"code":"USR_002","type":"USER_ERROR"}]}');
  const shown = paid.get(id) ?? paidBefore.get(id);
  return answerText(200, `{"paymentId":"${id}","paymentState":"COMPLETED"${shown === undefined ? '' : `,${shown}`}}`);
}

function answer(method: string, path: string, body: string): string {
  if (method === 'POST' && path.endsWith('/payments')) return pay(body);
  if (method === 'POST' && path.endsWith('/quote-collection')) return giveQuote(body);
  if (path.endsWith('/oauth/token')) {
    counts.tokens += 1;
    return answerText(
      200,
      `{"access_token":"token-${randomUUID()}","expires_in":${tokenSeconds},"token_type":"Bearer"}`,
    );
  }
  if (path.includes('/identities')) return answerText(200, '{"data":[]}');
  return lookUp(path);
}

function serve(socket: Socket): void {
  let pending = '';
  socket.setNoDelay(true);
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    pending += chunk.toString('latin1');
    for (;;) {
      const headEnd = pending.indexOf(HEAD_END);
      if (headEnd < 0) return;
      const head = pending.slice(0, headEnd);
      const length = /\r\ncontent-length: *([0-9]+)/i.exec(head)?.[1] ?? '0';
      const end = headEnd + HEAD_END.length + Number.parseInt(length, 10);
      if (pending.length < end) return;
      const body = pending.slice(headEnd + HEAD_END.length, end);
      pending = pending.slice(end);
      const [method = '', path = ''] = head.slice(0, head.indexOf('\r\n')).split(' ');
      if (delayMs === 0) socket.write(answer(method, path, body));
      else setTimeout(() => socket.write(answer(method, path, body)), delayMs);
    }
  });
}

process.on('message', (message: ServiceOrder) => {
  switch (message.order) {
    case 'set':
      ({ delayMs, tokenSeconds, perSecond } = message);
      process.send?.({ set: true });
      return;
    case 'reset':
      counts = { ...NOTHING };
      paidAt = [];
      references = [];
      process.send?.({ reset: true });
      return;
    case 'count':
      process.send?.(counts);
      return;
    case 'log':
      process.send?.({ paidAt, references } satisfies ServiceLog);
  }
});
process.on('disconnect', () => process.exit(0));

const server = createServer(serve);
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
