import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv6, type Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import { addressGroup } from '../../people/sign-in-attempts.ts';
import { Problem } from '../problem.ts';
import type { Web } from '../web.ts';
import type { WebLimits } from './limits.ts';

/** Those beyond the most that are told so; of still more nothing is read. */
const TOLD_CONNECTIONS_MAX = 400;
/** So many times what an address may have is open from it before the sweep. */
const AT_ONCE = 2;
const TRY_AGAIN_S = 30;
const SWEEP_MS = 500;

interface Connection {
  readonly socket: Socket;
  /** What its address is counted as; null for a proxy of ours, which stands for many. */
  readonly address: string | null;
  readonly isBeyond: boolean;
  /** Nobody who has signed in has asked for anything over it yet. */
  isStranger: boolean;
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
 * many from one address or in all; whoever has signed in stays connected, and is answered, over at most 100 connections each. An address with twice as many
 * strangers as it may have is not let in at all for that moment. A stranger over one connection too many gets a Problem (503). Whether payrun is alive is told over each. It has to come after the guard.
 */
export function limitConnections(web: Web, deps: Deps): void {
  const { clock, limits } = deps;
  const open = new Map<string, Connection>();
  const strangers = openCounts();
  const addressOf = openAddresses(deps.proxies);
  const people = openPeople(limits.personConnectionsMax);
  web.server.maxConnections = limits.connectionsMax + TOLD_CONNECTIONS_MAX;
  // Before TLS has shaken hands.
  web.server.on('connection', (socket: Socket) => {
    const place = placeOf(socket);
    const address = addressOf(socket);
    if (strangers.of(address) > AT_ONCE * limits.strangersPerAddressMax) {
      socket.destroy();
      return;
    }
    const isBeyond = open.size >= limits.connectionsMax;
    const connection = { socket, address, isBeyond, isStranger: true, since: clock.monotonic() };
    open.set(place, connection);
    strangers.add(address, 1);
    socket.once('close', () => {
      if (connection.isStranger) strangers.add(address, -1);
      people.left(connection);
      if (open.get(place) === connection) open.delete(place);
    });
  });
  web.server.on('request', ({ socket }: IncomingMessage) => {
    const connection = open.get(placeOf(socket));
    if (connection !== undefined) connection.since = clock.monotonic();
  });
  const sweeping = setInterval(() => {
    for (const { socket } of excessOf([...open.values()], { limits, now: clock.monotonic() })) socket.destroy();
  }, SWEEP_MS);
  sweeping.unref();
  web.addHook('onClose', async () => clearInterval(sweeping));
  web.addHook('onRequest', async ({ raw, who, routeOptions }, reply) => {
    const connection = open.get(placeOf(raw.socket));
    if (connection === undefined) return;
    if (who !== null && connection.isStranger) {
      connection.isStranger = false;
      strangers.add(connection.address, -1);
    }
    if (who !== null) people.asked(who.name, connection);
    if (who !== null || !connection.isBeyond) return;
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

/** How many strangers are connected from each address; those from behind a proxy of ours (null) are not counted. */
function openCounts() {
  const counts = new Map<string, number>();
  const of = (address: string | null): number => (address === null ? 0 : (counts.get(address) ?? 0));
  return {
    of,
    add(address: string | null, more: 1 | -1) {
      if (address === null) return;
      const count = of(address) + more;
      if (count > 0) counts.set(address, count);
      else counts.delete(address);
    },
  };
}

/** The connections of strangers that are too many; those that came or asked last stay, and each has its time. */
function excessOf(
  connections: readonly Connection[],
  { limits, now }: { readonly limits: WebLimits; readonly now: number },
): Connection[] {
  const strangers = connections.filter(({ isStranger }) => isStranger);
  if (strangers.length <= limits.strangersPerAddressMax) return [];
  const counts = new Map<string, number>();
  let all = 0;
  return strangers
    .toSorted((one, other) => other.since - one.since)
    .filter(({ address, since }) => {
      const own = address === null ? 0 : (counts.get(address) ?? 0) + 1;
      if (address !== null) counts.set(address, own);
      all++;
      const isTooMany = own > limits.strangersPerAddressMax || all > limits.strangersMax;
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
