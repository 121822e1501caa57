import { mkdtemp, rm } from 'node:fs/promises';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Clock, systemClock, systemRandom } from '../../src/clock.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';

/** The fields of all answers together; a test reads those that its answer has. */
export interface ReplyBody {
  readonly access_token: string;
  readonly quotes: readonly [QuoteBody, ...QuoteBody[]];
  readonly data: readonly unknown[];
  readonly errors: readonly [{ readonly code: string }, ...unknown[]] | undefined;
  readonly paymentId: string;
  readonly paymentState: string;
  readonly lastStateUpdatedAt: string;
  readonly originator: { readonly internalId: string };
}

interface QuoteBody {
  readonly quoteId: string;
  readonly sourceAmount: number;
  readonly destinationAmount: number;
  readonly adjustedExchangeRate: object;
  readonly createdAt: string;
  readonly expiresAt: string;
  readonly fees: readonly [
    {
      readonly totalFee: number;
      readonly feeCurrency: string;
      readonly feeBreakdown: readonly { readonly calculatedFee: number }[];
    },
  ];
}

/** What came back, read by nothing but node:http. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: ReplyBody;
}

export interface Sent {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Record<string, string>;
  /** An object is sent as JSON, a string as it is. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** One request on a connection of its own. Rejects when the connection breaks. */
export async function send(
  url: string,
  { method = 'GET', token, headers = {}, body, signal }: Sent = {},
): Promise<Reply> {
  const payload = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((answer, fail) => {
    const outgoing = request(
      url,
      {
        method,
        agent: false,
        ...(signal === undefined ? {} : { signal }),
        headers: {
          ...(payload === undefined
            ? {}
            : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(payload)) }),
          ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', fail);
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          answer({ status: incoming.statusCode ?? 0, headers: incoming.headers, text, json: jsonOf(text) });
        });
      },
    );
    outgoing.on('error', fail);
    outgoing.end(payload);
  });
}

/** An answer without a JSON body has none of the fields. */
function jsonOf(text: string): ReplyBody {
  try {
    return JSON.parse(text) as ReplyBody;
  } catch {
    return {} as ReplyBody;
  }
}

/** A clock that tests push. */
export interface TestClock extends Clock {
  advance(ms: number): void;
}

export function testClock(start = Date.UTC(2026, 0, 15, 12)): TestClock {
  let now = start;
  return {
    now: () => now,
    monotonic: () => now,
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
    advance(ms) {
      now += ms;
    },
  };
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'payrun-sandbox-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A sandbox that the test's end closes. */
export async function openSandbox(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const folder = options.folder ?? (await temporaryFolder());
  const sandbox = await startSandbox({ clock: systemClock, random: systemRandom, ...options, folder });
  onTestFinished(() => sandbox.close());
  return sandbox;
}

export const BENEFICIARY = '11111111-1111-4111-8111-111111111111';
export const ORIGINATOR = '22222222-2222-4222-8222-222222222222';

/** A sandbox with a credential, a token, one beneficiary and one originator, and the requests that tests make. */
export interface Desk {
  readonly sandbox: Sandbox;
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly token: string;
  quote(changes?: object): Promise<Reply>;
  /** A quote's id. */
  quoteId(changes?: object): Promise<string>;
  pay(body: object, sent?: Sent): Promise<Reply>;
  read(paymentId: string): Promise<Reply>;
}

export const QUOTE = {
  quoteAmount: 100,
  quoteAmountType: 'SOURCE_AMOUNT',
  sourceCurrency: 'USD',
  destinationCurrency: 'MXN',
  payoutCategory: 'BANK',
  payinCategory: 'PRE_FUNDING',
};

export async function openDesk(options: Partial<SandboxOptions> = {}): Promise<Desk> {
  const sandbox = await openSandbox(options);
  const url = sandbox.url('test');
  const { clientId, clientSecret } = await sandbox.createCredential('desk', 'test');
  await sandbox.registerIdentities('test', [
    { identityId: BENEFICIARY, identityType: 'BENEFICIARY', nickName: 'Ana' },
    { identityId: ORIGINATOR, identityType: 'ORIGINATOR', nickName: 'Shop', useCaseType: 'BUSINESS' },
  ]);
  const granted = await send(`${url}/v2/oauth/token`, {
    method: 'POST',
    body: tokenBody({ clientId, clientSecret, tenantId: sandbox.tenantId }),
  });
  const token = granted.json.access_token;
  const quote = (changes: object = {}) =>
    send(`${url}/v2/quotes/quote-collection`, { method: 'POST', token, body: { ...QUOTE, ...changes } });
  return {
    sandbox,
    url,
    clientId,
    clientSecret,
    token,
    quote,
    quoteId: async (changes) => (await quote(changes)).json.quotes[0].quoteId,
    pay: (body, sent = {}) =>
      send(`${url}/v2/payments`, {
        method: 'POST',
        token,
        body: { beneficiaryIdentityId: BENEFICIARY, ...body },
        ...sent,
      }),
    read: (paymentId) => send(`${url}/v2/payments/${paymentId}`, { token }),
  };
}

/** Quotes, pays and reads once. */
export async function payAndRead(desk: Desk): Promise<{ quoteId: string; paid: Reply; found: Reply }> {
  const quoteId = await desk.quoteId();
  const paid = await desk.pay({ quoteId });
  return { quoteId, paid, found: await desk.read(quoteId) };
}

/** Asks for another token. */
export async function askToken(desk: Desk): Promise<Reply> {
  const body = tokenBody({ ...desk, tenantId: desk.sandbox.tenantId });
  return send(`${desk.url}/v2/oauth/token`, { method: 'POST', body });
}

export function tokenBody(of: { clientId: string; clientSecret: string; tenantId: string }, environment = 'test') {
  return {
    grant_type: 'client_credentials',
    client_id: of.clientId,
    client_secret: of.clientSecret,
    audience: `urn:servicexcurrent-${environment}:${of.tenantId}`,
  };
}
