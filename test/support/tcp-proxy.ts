import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type Moment, recentText, type Way, type When } from './proxy-moment.ts';

/** A TCP port of the loopback address, or the path of a unix socket. */
export type ProxyEnd = { readonly port: number } | { readonly path: string };

/** What becomes of a connection and its bytes. */
export type Deed =
  | { readonly do: 'pass' }
  /** Each piece that arrives comes through so much later. */
  | { readonly do: 'delay'; readonly ms: number }
  /** One byte at a time. */
  | { readonly do: 'drip'; readonly everyMs: number }
  /** RST to both sides; a unix socket is closed. */
  | { readonly do: 'cut' }
  /** FIN to one side, whose own bytes still come through. */
  | { readonly do: 'end'; readonly side: 'client' | 'target' }
  /** Bytes of these ways are taken and lost: half-open with one way, a black hole with both. It lasts to the connection's end. */
  | { readonly do: 'swallow'; readonly ways: readonly Way[] }
  /** Bytes of these ways are kept, and passed on when the next toxic is set: a partition that heals. */
  | { readonly do: 'hold'; readonly ways: readonly Way[] };

/** A deed, and when it sets in: at once, or at a moment on a connection's way. */
export type Toxic = Deed & {
  readonly when?: When;
  /** On so many connections at most; those after them pass. */
  readonly connectionsMax?: number;
};

export interface TcpProxy {
  /** Where it listens. */
  readonly end: ProxyEnd;
  /** For connections that there are and those to come; it takes the place of the toxic before. `hits` counts connections on which it set in. */
  set(toxic: Toxic): { readonly hits: number };
  /** Lets nobody connect any more; connections that there are stay. */
  refuse(): Promise<void>;
  listen(): Promise<void>;
  readonly connections: number;
  close(): Promise<void>;
}

interface Link {
  readonly number: number;
  readonly ends: Readonly<Record<'client' | 'target', Socket>>;
  readonly seen: Record<Way, { bytes: number; text: string }>;
  /** The way of the last byte. */
  last: Way | undefined;
  deed: Deed;
  /** The toxic whose moment has come. */
  met: Toxic | undefined;
}

const EVERYTHING_READ_MS = 20;
const HELD_POLL_MS = 5;
const BOTH: readonly Way[] = ['request', 'reply'];

/** Stands between clients and a target, and passes every byte until it is told otherwise. Port 0 is any free one. */
export async function startProxy(target: ProxyEnd, listenOn: ProxyEnd = { port: 0 }): Promise<TcpProxy> {
  const links = new Set<Link>();
  let end = listenOn;
  let server: Server;
  let setting = { toxic: { do: 'pass' } as Toxic, hits: 0 };
  let count = 0;

  /** Whether the toxic's turn has come on this connection, which is then its own. */
  function meets(link: Link): boolean {
    const { toxic, hits } = setting;
    if (link.met === toxic || hits >= (toxic.connectionsMax ?? Number.POSITIVE_INFINITY)) return false;
    setting.hits += 1;
    link.met = toxic;
    return true;
  }

  function apply(link: Link, toxic: Toxic): void {
    link.deed = toxic;
    if (toxic.do === 'cut') for (const socket of Object.values(link.ends)) cut(socket);
    if (toxic.do === 'end') link.ends[toxic.side].end();
  }

  async function carry(link: Link, way: Way): Promise<void> {
    const [from, to] = way === 'request' ? [link.ends.client, link.ends.target] : [link.ends.target, link.ends.client];
    for await (const chunk of from.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      const { toxic } = setting;
      const moment = momentOf(link, way, chunk);
      const passing = toxic.when?.(moment);
      if (passing === undefined || !meets(link)) await deliver(link, { way, to, bytes: chunk });
      else {
        await deliver(link, { way, to, bytes: chunk.subarray(0, passing) });
        // Until then nothing comes back: an answer to what was passed on would be quicker than the deed.
        link.deed = { do: 'hold', ways: BOTH };
        await delay(EVERYTHING_READ_MS);
        apply(link, toxic);
        await deliver(link, { way, to, bytes: chunk.subarray(passing) });
      }
    }
    if (!isStopped(link, way)) to.end();
  }

  async function deliver(link: Link, { way, to, bytes }: { way: Way; to: Socket; bytes: Buffer }): Promise<void> {
    while (isHeld(link, way)) await delay(HELD_POLL_MS);
    const { deed } = link;
    if (isStopped(link, way)) return;
    if (deed.do === 'delay') await delay(deed.ms);
    if (deed.do === 'drip') return await drip(to, bytes, deed.everyMs);
    await write(to, bytes);
  }

  const accept = (client: Socket): void => {
    count += 1;
    const seen = { request: { bytes: 0, text: '' }, reply: { bytes: 0, text: '' } };
    const ends = { client, target: connect({ ...target, allowHalfOpen: true, noDelay: true }) };
    const link: Link = { number: count, ends, seen, last: undefined, deed: { do: 'pass' }, met: undefined };
    links.add(link);
    for (const [socket, other] of [
      [ends.client, ends.target],
      [ends.target, ends.client],
    ] as const) {
      socket.on('error', () => cut(other));
      socket.on('close', () => {
        if (other.destroyed) links.delete(link);
        if (!isStopped(link, 'request') && !isStopped(link, 'reply')) other.destroySoon();
      });
    }
    if (setting.toxic.when === undefined && meets(link)) apply(link, setting.toxic);
    for (const way of BOTH) carry(link, way).catch(() => {});
  };

  async function listen(): Promise<void> {
    server = createServer({ allowHalfOpen: true, noDelay: true }, accept).listen(
      'port' in end ? { port: end.port, host: '127.0.0.1' } : end,
    );
    await once(server, 'listening');
    if ('port' in end) end = { port: (server.address() as AddressInfo).port };
  }
  await listen();

  return {
    get end() {
      return end;
    },
    get connections() {
      return links.size;
    },
    set(toxic) {
      setting = { toxic, hits: 0 };
      for (const link of links) {
        if (link.deed.do === 'swallow' && toxic.do !== 'cut') continue;
        link.deed = { do: 'pass' };
        if (toxic.when === undefined && meets(link)) apply(link, toxic);
      }
      return setting;
    },
    async refuse() {
      server.close();
    },
    listen,
    async close() {
      server.close();
      for (const { ends } of links) for (const socket of Object.values(ends)) socket.destroy();
    },
  };
}

function isHeld({ deed, ends }: Link, way: Way): boolean {
  return deed.do === 'hold' && deed.ways.includes(way) && !(ends.client.destroyed && ends.target.destroyed);
}

function isStopped({ deed }: Link, way: Way): boolean {
  return deed.do === 'swallow' && deed.ways.includes(way);
}

function momentOf(link: Link, way: Way, chunk: Buffer): Moment {
  const own = link.seen[way];
  const isNew = link.last !== way;
  // The first byte of a request begins a new exchange.
  if (isNew && way === 'request') {
    link.seen.request.text = '';
    link.seen.reply.text = '';
  }
  const before = own.bytes;
  own.bytes += chunk.length;
  own.text = recentText(own.text, chunk);
  link.last = way;
  return { connection: link.number, way, chunk, before, request: link.seen.request.text, reply: link.seen.reply.text };
}

function cut(socket: Socket): void {
  if (socket.localAddress === undefined && socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

async function write(to: Socket, bytes: Buffer): Promise<void> {
  if (bytes.length === 0 || to.destroyed || to.writableEnded) return;
  await new Promise<void>((resolve) => to.write(bytes, () => resolve()));
}

async function drip(to: Socket, bytes: Buffer, everyMs: number): Promise<void> {
  for (let at = 0; at < bytes.length && !to.destroyed; at++) {
    await write(to, bytes.subarray(at, at + 1));
    await delay(everyMs);
  }
}
