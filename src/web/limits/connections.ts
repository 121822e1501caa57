import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv6, type Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import { addressGroup } from '../../people/sign-in-attempts.ts';
import { Problem } from '../problem.ts';
import type { Web } from '../web.ts';
import type { WebLimits } from './limits.ts';

/** Room for strangers when those who have signed in have all connections that the server takes. */
const STRANGERS_BEYOND = 400;
/** So many times what an address may have is open from it before the sweep. */
const AT_ONCE = 2;
const TRY_AGAIN_S = 30;
const SWEEP_MS = 500;

interface Connection {
  readonly socket: Socket;
  /** What its address is counted as; null for a proxy of ours, which stands for many. */
  readonly address: string | null;
  /** When it was opened, or something was last asked for over it. */
  since: number;
}

interface Deps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly limits: WebLimits;
  /** Addresses and networks of proxies. */
  readonly proxies: readonly string[];
}

/**
 * Bounds the connections to the server. Those over which only strangers ask give way, the oldest first, where they are too
 * many from one address or in all, and at once for the next one when the server is full: Node would refuse that one, whoever
 * it is from. Whoever has signed in stays connected, and is answered, over at most 100 connections each. An address with twice as many
 * strangers as it may have is not let in at all for that moment. A stranger is refused (503) where those who have signed in
 * leave no room. Whether payrun is alive is told over each. It has to come after the guard.
 */
export function limitConnections(web: Web, deps: Deps): void {
  const { clock, limits } = deps;
  const open = new Map<string, Connection>();
  const strangers = openStrangers();
  const addressOf = openAddresses(deps.proxies);
  const people = openPeople(limits.personConnectionsMax);
  const close = (place: string, connection: Connection): void => {
    connection.socket.destroy();
    strangers.remove(connection);
    people.left(connection);
    if (open.get(place) === connection) open.delete(place);
  };
  // Before TLS has shaken hands.
  web.server.on('connection', (socket: Socket) => {
    const place = placeOf(socket);
    const address = addressOf(socket);
    const oldest = open.size < limits.connectionsMax + STRANGERS_BEYOND ? null : strangers.oldest();
    if (oldest === undefined || strangers.of(address) > AT_ONCE * limits.strangersPerAddressMax) {
      socket.destroy();
      return;
    }
    if (oldest !== null) close(placeOf(oldest.socket), oldest);
    const connection = { socket, address, since: clock.monotonic() };
    open.set(place, connection);
    strangers.add(connection);
    socket.once('close', () => close(place, connection));
  });
  web.server.on('request', ({ socket }: IncomingMessage) => {
    const connection = open.get(placeOf(socket));
    if (connection === undefined) return;
    connection.since = clock.monotonic();
    if (strangers.remove(connection)) strangers.add(connection);
  });
  const sweeping = setInterval(() => {
    for (const { socket } of excessOf(strangers.newestFirst(), { limits, now: clock.monotonic() })) socket.destroy();
  }, SWEEP_MS);
  sweeping.unref();
  web.addHook('onClose', async () => clearInterval(sweeping));
  web.addHook('onRequest', async ({ raw, who, routeOptions }, reply) => {
    const connection = open.get(placeOf(raw.socket));
    if (connection === undefined) return;
    if (who !== null) {
      strangers.remove(connection);
      people.asked(who.name, connection);
      return;
    }
    if (!strangers.has(connection) || open.size - strangers.size() < limits.connectionsMax) return;
    reply.header('connection', 'close');
    if (routeOptions.url === '/healthz') return;
    reply.header('retry-after', TRY_AGAIN_S);
    throw new Problem(
      503,
      'Too many connections are open here.',
      'Close pages that you do not need, and try again in a while.',
    );
  });
}

/** The connections of each person, that over which they asked last at the end. Beyond the most the first one is closed. */
function openPeople(connectionsMax: number) {
  const ofPeople = new Map<string, Set<Connection>>();
  const personOf = new Map<Connection, string>();
  const left = (connection: Connection): void => {
    const person = personOf.get(connection);
    if (person === undefined) return;
    personOf.delete(connection);
    const theirs = ofPeople.get(person);
    theirs?.delete(connection);
    if (theirs?.size === 0) ofPeople.delete(person);
  };
  return {
    left,
    asked(person: string, connection: Connection) {
      left(connection);
      const theirs = ofPeople.get(person) ?? new Set();
      ofPeople.set(person, theirs.add(connection));
      personOf.set(connection, person);
      const [oldest] = theirs;
      if (theirs.size > connectionsMax) oldest?.socket.destroy();
    },
  };
}

/** The connections over which nobody who has signed in has asked for anything yet, that over which they came or asked last at the end; those from behind a proxy of ours (null) count for no address. */
function openStrangers() {
  const all = new Set<Connection>();
  const counts = new Map<string, number>();
  const of = (address: string | null): number => (address === null ? 0 : (counts.get(address) ?? 0));
  const count = (address: string | null, more: 1 | -1): void => {
    if (address === null) return;
    const now = of(address) + more;
    if (now > 0) counts.set(address, now);
    else counts.delete(address);
  };
  return {
    of,
    size: () => all.size,
    has: (connection: Connection): boolean => all.has(connection),
    oldest: (): Connection | undefined => all.values().next().value,
    newestFirst: () => [...all].toReversed(),
    add(connection: Connection) {
      all.add(connection);
      count(connection.address, 1);
    },
    /** False where it is none of them. */
    remove(connection: Connection): boolean {
      const isKnown = all.delete(connection);
      if (isKnown) count(connection.address, -1);
      return isKnown;
    },
  };
}

/** The connections of strangers that are too many; those that came or asked last stay, and each has its time. */
function excessOf(
  newestFirst: readonly Connection[],
  { limits, now }: { readonly limits: WebLimits; readonly now: number },
): Connection[] {
  if (newestFirst.length <= limits.strangersPerAddressMax) return [];
  const counts = new Map<string, number>();
  return newestFirst.filter(({ address, since }, newer) => {
    const own = address === null ? 0 : (counts.get(address) ?? 0) + 1;
    if (address !== null) counts.set(address, own);
    const isTooMany = own > limits.strangersPerAddressMax || newer >= limits.strangersMax;
    return isTooMany && since + limits.strangerMsMin <= now;
  });
}

/** The other end, which is the same for a socket and for the TLS over it. */
function placeOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function openAddresses(networks: readonly string[]): (socket: Socket) => string | null {
  const proxies = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) proxies.addAddress(address, family);
    else proxies.addSubnet(address, Number.parseInt(bits, 10), family);
  }
  return ({ remoteAddress = '' }) => {
    const isProxy = proxies.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4');
    return isProxy ? null : addressGroup(remoteAddress);
  };
}
