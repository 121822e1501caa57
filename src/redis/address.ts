import type { RedisOptions } from 'ioredis';
import { Refusal } from '../refusal.ts';
import { slotMaster } from './slot-master.ts';

const REDIS_PORT = 6379;
const SENTINEL_PORT = 26_379;
/** Of several servers, one that does not answer must not cost the time in which the next one would. */
const ONE_OF_SEVERAL_MS_MAX = 3000;
const SENTINELS_AGAIN_STEP_MS = 100;
const SENTINELS_AGAIN_MS_MAX = 2000;

/** Of the mark by which ledgers know a database of theirs (src/ledger/season/ledger-state.ts); on another server they would not find it. */
const CLUSTER_TAG = '{payrun-database}';

/**
 * A `redis://`, `rediss://` or `unix://` address, `redis+sentinel://` or `redis+cluster://` with several hosts, or the path
 * of a unix socket. In a cluster the hash tag of the prefix tells the server.
 */
export type RedisAddress = { readonly url: string; readonly prefix?: string } | { readonly socket: string };

/** Where a connection leads. */
export interface Endpoint {
  readonly options: RedisOptions;
  /** The address without user and password. */
  readonly shown: string;
  /** Which server it is may change, and is asked for at each connection. */
  readonly isOneOfSeveral: boolean;
}

/** Host and port. */
export interface Node {
  readonly host: string;
  readonly port: number;
}

/** Throws a Refusal that does not show a password when the address is wrong. */
export function readAddress(address: RedisAddress): Endpoint {
  if ('socket' in address) return oneServer({ path: address.socket }, address.socket);
  const { hosts, text } = splitHosts(address.url);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) throw refuseAddress('is no address');
  switch (url.protocol) {
    case 'unix:':
      requireKnown(url, ['db']);
      return readSocketAddress(url);
    case 'redis:':
    case 'rediss:':
      requireKnown(url, ['db']);
      return readNetworkAddress(url);
    case 'redis+sentinel:':
    case 'rediss+sentinel:':
      requireKnown(url, ['db', 'sentinelUsername', 'sentinelPassword']);
      return readSentinelAddress(url, hosts);
    case 'redis+cluster:':
    case 'rediss+cluster:':
      requireKnown(url, []);
      return readClusterAddress(url, hosts, address.prefix ?? '');
    default:
      throw refuseAddress(`begins with ${url.protocol}`);
  }
}

/** Whether it leads over the network, this host's loopback included. Throws as `readAddress`. */
export function isOverNetwork(address: RedisAddress): boolean {
  return readAddress(address).options.path === undefined;
}

/** An address of several hosts is read as that of its first, for URLs know but one. */
function splitHosts(text: string): { hosts: readonly string[]; text: string } {
  const [, start = '', list = '', rest = ''] = /^(rediss?\+[a-z]+:\/\/(?:[^@/?#]*@)?)([^@/?#]*)(.*)$/s.exec(text) ?? [];
  const hosts = list.split(',');
  return list === '' ? { hosts, text } : { hosts, text: `${start}${hosts[0]}${rest}` };
}

function oneServer(options: RedisOptions, shown: string): Endpoint {
  return { options, shown, isOneOfSeveral: false };
}

function requireKnown(url: URL, names: readonly string[]): void {
  const unknown = [...url.searchParams.keys()].find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const known = names.length === 0 ? 'none' : `only ${names.map((name) => `?${name}=`).join(', ')}`;
  throw refuseAddress(`has ?${unknown}, of which ${known} is known`);
}

function readSocketAddress(url: URL): Endpoint {
  const path = decode(url.pathname);
  if (url.host !== '' || !path.startsWith('/')) throw refuseAddress('has no absolute path after unix://');
  const db = readDatabase(url.searchParams.get('db') ?? '0');
  return oneServer({ path, db }, `unix://${path}${db === 0 ? '' : `?db=${db}`}`);
}

function readNetworkAddress(url: URL): Endpoint {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (host === '') throw refuseAddress('names no host');
  if (host.includes(',')) throw refuseAddress('names several hosts, which need redis+sentinel:// or redis+cluster://');
  const port = url.port === '' ? REDIS_PORT : Number.parseInt(url.port, 10);
  const db = readDatabase(url.searchParams.get('db') ?? (url.pathname.slice(1) || '0'));
  const tls = url.protocol === 'rediss:' ? { tls: {} } : {};
  return oneServer({ host, port, db, ...userOf(url), ...tls }, `${url.protocol}//${url.hostname}:${port}/${db}`);
}

/** The sentinels are asked at each connection which server is the primary of this name. */
function readSentinelAddress(url: URL, hosts: readonly string[]): Endpoint {
  const sentinels = hosts.map((host) => readNode(host, SENTINEL_PORT));
  const name = decode(url.pathname.slice(1));
  if (!/^[\w.-]+$/.test(name)) throw refuseAddress('has no name of a primary after the sentinels');
  const db = readDatabase(url.searchParams.get('db') ?? '0');
  const [sentinelUsername, sentinelPassword] = ['sentinelUsername', 'sentinelPassword'].map((word) =>
    url.searchParams.get(word),
  );
  return {
    options: {
      sentinels,
      name,
      role: 'master',
      db,
      ...userOf(url),
      ...(sentinelUsername ? { sentinelUsername } : {}),
      ...(sentinelPassword ? { sentinelPassword } : {}),
      ...(url.protocol === 'rediss+sentinel:' ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
      connectTimeout: ONE_OF_SEVERAL_MS_MAX,
      sentinelCommandTimeout: ONE_OF_SEVERAL_MS_MAX,
      sentinelRetryStrategy: (attempt) => Math.min(attempt * SENTINELS_AGAIN_STEP_MS, SENTINELS_AGAIN_MS_MAX),
    },
    shown: `${shownHosts(url, sentinels)}/${name}${db === 0 ? '' : `?db=${db}`}`,
    isOneOfSeveral: true,
  };
}

/** All keys have one hash tag and so lie on one server of the cluster: each connection leads straight to it. */
function readClusterAddress(url: URL, hosts: readonly string[], prefix: string): Endpoint {
  if (!/^\/?$/.test(url.pathname)) throw refuseAddress('names a database, which a cluster has not');
  if (!prefix.endsWith(CLUSTER_TAG)) throw refusePrefix(prefix);
  const nodes = hosts.map((host) => readNode(host, REDIS_PORT));
  const options = {
    ...userOf(url),
    ...(url.protocol === 'rediss+cluster:' ? { tls: {} } : {}),
    connectTimeout: ONE_OF_SEVERAL_MS_MAX,
  };
  const Connector = slotMaster(nodes, prefix, options);
  return { options: { ...options, Connector }, shown: shownHosts(url, nodes), isOneOfSeveral: true };
}

function readNode(text: string, defaultPort: number): Node {
  const [, host, port] = /^(\[[0-9a-fA-F:.]+\]|[^\s:[\]]+)(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  if (host === undefined) throw refuseAddress('names a host that is none');
  return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? defaultPort : Number.parseInt(port, 10) };
}

function shownHosts(url: URL, nodes: readonly Node[]): string {
  return `${url.protocol}//${nodes.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')}`;
}

function userOf(url: URL): RedisOptions {
  return {
    ...(url.username === '' ? {} : { username: decode(url.username) }),
    ...(url.password === '' ? {} : { password: decode(url.password) }),
  };
}

function readDatabase(text: string): number {
  if (!/^[0-9]{1,4}$/.test(text)) throw refuseAddress('has a database that is no number');
  return Number.parseInt(text, 10);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refuseAddress('holds a % that begins no escape; write %25');
  }
}

function refuseAddress(problem: string): Refusal {
  return new Refusal(
    `REDIS_URL ${problem}`,
    'Write redis://user:password@host:6379/0, rediss:// for TLS, unix:///path/to/socket?db=0, ' +
      'redis+sentinel://host:26379,host:26379/NAME, or redis+cluster://host:6379,host:6379.',
  );
}

function refusePrefix(prefix: string): Refusal {
  return new Refusal(
    `REDIS_URL names a cluster, and PAYRUN_PREFIX is ${prefix === '' ? 'not known' : prefix}`,
    `In a cluster set PAYRUN_PREFIX to ${CLUSTER_TAG}, or to something that ends with it, so that all keys are on one server.`,
  );
}
