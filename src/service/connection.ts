import { lookup } from 'node:dns';
import { type ClientRequest, request } from 'node:http';
import type { LookupFunction } from 'node:net';
import { createSecureContext, rootCertificates } from 'node:tls';
import { buildConnector, errors, Pool } from 'undici';
import type { ServiceSettings } from '../config/config.ts';
import { ProxyFailure } from './answer.ts';

/** Each step of a connection (TCP, tunnel, TLS) has this long. */
const CONNECT_MS_MAX = 5 * 1000;
/** Shorter than servers keep an idle connection open, so that few requests meet one that is being closed. */
const KEEP_ALIVE_MS = 4 * 1000;

type Connector = buildConnector.connector;

/**
 * How connections to the service are made: certificates are always verified, TLS is 1.2 or later, and with a proxy
 * everything runs through a tunnel, so that no answer of the proxy can be taken for one of the service. No proxy is ever
 * taken from the environment. undici's ProxyAgent is not used: it asks a proxy that closes without an answer for the
 * next tunnel at once, thousands of times a second.
 */
export function openConnector(
  { url, proxy, certificates }: Pick<ServiceSettings, 'url' | 'proxy' | 'certificates'>,
  resolveName: LookupFunction = lookup,
): Connector {
  const ca = certificates === undefined ? {} : { ca: [...rootCertificates, ...certificates] };
  const connect = buildConnector({
    timeout: CONNECT_MS_MAX,
    lookup: resolveName,
    // Both are named, so that no environment variable can switch the check of certificates off or let old TLS in.
    rejectUnauthorized: true,
    secureContext: createSecureContext({ minVersion: 'TLSv1.2', ...ca }),
  });
  return proxy === undefined ? connect : throughProxy(connect, new URL(proxy), new URL(url));
}

/** HTTP/1.1 with one request in flight per connection; undici follows no redirect and retries nothing by itself. */
export function openPool(url: string, connections: number, connect: Connector): Pool {
  const { origin } = new URL(url);
  return new Pool(origin, { connections, pipelining: 1, allowH2: false, keepAliveTimeout: KEEP_ALIVE_MS, connect });
}

function throughProxy(connect: Connector, proxy: URL, service: URL): Connector {
  const { host, protocol, port } = proxy;
  const authority = `${service.hostname}:${service.port || (service.protocol === 'https:' ? 443 : 80)}`;
  const headers = { host: authority, ...authorizationOf(proxy) };
  return (options, callback) => {
    connect({ host, hostname: proxy.hostname.replace(/^\[|\]$/g, ''), protocol, port }, (cause, socket) => {
      if (cause !== null) return callback(new ProxyFailure('the proxy cannot be reached', { cause }), null);
      const asking = request({ method: 'CONNECT', path: authority, headers, createConnection: () => socket });
      whenOpen(asking, (refused) => {
        if (refused !== null) {
          socket.destroy();
          callback(new ProxyFailure('the proxy opens no tunnel', { cause: refused }), null);
        } else if (service.protocol === 'https:') connect({ ...options, httpSocket: socket }, callback);
        else callback(null, socket);
      });
    });
  };
}

/** Sends the request for a tunnel (CONNECT, RFC 9110 section 9.3.6); null stands for a tunnel that is open. */
function whenOpen(asking: ClientRequest, done: (refused: Error | null) => void): void {
  const timer = setTimeout(() => asking.destroy(new errors.ConnectTimeoutError()), CONNECT_MS_MAX);
  asking.once('connect', ({ statusCode = 0 }, _socket, head) => {
    clearTimeout(timer);
    if (statusCode < 200 || statusCode > 299) done(refusal(String(statusCode)));
    // Nothing was asked of the service yet: whoever speaks now is not answering us.
    else if (head.length > 0) done(refusal('speaks first'));
    else done(null);
  });
  asking.once('error', (error) => {
    clearTimeout(timer);
    done(error);
  });
  asking.end();
}

function refusal(code: string): Error {
  return Object.assign(new Error('the tunnel is refused'), { code });
}

function authorizationOf({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  return { 'proxy-authorization': `Basic ${credentials.toString('base64')}` };
}
