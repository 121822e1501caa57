import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { rootCertificates } from 'node:tls';
import type { Clock } from '../clock.ts';
import type { WebhookEndpoint } from '../config/notify.ts';
import { codeOf } from '../refusal.ts';
import { VERSION } from '../version.ts';
import type { Sent } from './retry.ts';
import { signatureOf } from './signature.ts';

/** From the first step of the connection to the end of the reply. */
const SEND_MS_MAX = 10_000;
/** Of a reply's body; it is thrown away. */
const REPLY_BYTES_MAX = 4096;
const DONE: Sent = { delivered: true };

export interface WebhookDeps {
  readonly clock: Clock;
  /** PEM certificates that are trusted besides Node's own. */
  readonly certificates?: readonly string[] | undefined;
  readonly sendMsMax?: number;
}

/**
 * Posts a notification, signed, to a receiver. Delivered is what is answered with 2xx, whatever else the reply says; a
 * redirect is an answer like any other. Never throws for what the receiver or the network does.
 */
export async function postNotification(
  { url, secrets }: Pick<WebhookEndpoint, 'url' | 'secrets'>,
  { id, body }: { id: string; body: string },
  deps: WebhookDeps,
): Promise<Sent> {
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'payrun-event-id': id,
    'payrun-signature': signatureOf(body, secrets, deps.clock.now()),
    'user-agent': `payrun/${VERSION}`,
  };
  return await exchange(new URL(url), { method: 'POST', headers, agent: false }, { body, ...deps });
}

async function exchange(
  url: URL,
  options: RequestOptions,
  { body, certificates, sendMsMax = SEND_MS_MAX }: WebhookDeps & { body: string },
): Promise<Sent> {
  const ca = certificates === undefined ? {} : { ca: [...rootCertificates, ...certificates] };
  // Both are named, so that no environment variable can switch the check of certificates off or let old TLS in.
  const tls = { rejectUnauthorized: true, minVersion: 'TLSv1.2', ...ca } as const;
  return await new Promise((resolve) => {
    const asking =
      url.protocol === 'https:' ? requestHttps(url, { ...options, ...tls }) : requestHttp(url, { ...options });
    let outcome: Sent = { delivered: false, reason: 'no answer' };
    const timer = setTimeout(() => asking.destroy(Object.assign(new Error(), { code: 'timeout' })), sendMsMax);
    asking.once('response', (reply) => {
      const status = reply.statusCode ?? 0;
      outcome = status >= 200 && status < 300 ? DONE : { delivered: false, reason: `status ${status}` };
      throwAway(reply, () => asking.destroy());
    });
    asking.on('error', (error) => {
      if (!outcome.delivered && outcome.reason === 'no answer') {
        outcome = { delivered: false, reason: codeOf(error) ?? 'the connection failed' };
      }
    });
    asking.once('close', () => {
      clearTimeout(timer);
      resolve(outcome);
    });
    asking.end(body);
  });
}

/** Reads a reply to its end, or until it has said too much: the answer is known by then. */
function throwAway(reply: IncomingMessage, stop: () => void): void {
  let bytes = 0;
  reply.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > REPLY_BYTES_MAX) stop();
  });
  reply.on('error', () => {});
}
