import { isIP } from 'node:net';
import type { WebSettings } from '../../config/web.ts';
import { Refusal } from '../../refusal.ts';

/** Where the web app listens. */
export interface Listening {
  readonly host: string;
  readonly port: number;
}

const LOOPBACK = /^(localhost|127(\.[0-9]{1,3}){3}|::1)$/;

/**
 * Throws a Refusal for an address that other machines reach in plain HTTP, unless a proxy of ours stands before it
 * (docs/security.md).
 */
export function requireSafeAddress({ host }: Pick<Listening, 'host'>, { tls, proxies }: WebSettings): void {
  if (LOOPBACK.test(host) || tls !== null || proxies.length > 0) return;
  throw new Refusal(
    `Other machines would reach ${host} without encryption.`,
    'Listen on 127.0.0.1, or name a certificate ("web.tls") or the proxy that encrypts ("web.proxies") in the file of PAYRUN_CONFIG.',
  );
}

/** What browsers may name as the host: this machine's own names, the address, and what the settings add. */
export function hostsOf({ host, port }: Listening, { hosts }: WebSettings): ReadonlySet<string> {
  const own = ['localhost', '127.0.0.1', '[::1]', ...(isIP(host) === 6 ? [`[${host}]`] : [host])];
  return new Set([...own.map((name) => `${name}:${port}`), ...hosts.flatMap((name) => [name, `${name}:${port}`])]);
}

/** The address for a person to open. */
export function addressOf({ host, port }: Listening, { tls }: WebSettings): string {
  return `${tls === null ? 'http' : 'https'}://${isIP(host) === 6 ? `[${host}]` : host}:${port}/`;
}
