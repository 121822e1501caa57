import { createConnection } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, Redis, type RedisOptions } from 'ioredis';
import { z } from 'zod';
import type { Node } from './address.ts';

const ASK_MS_MAX = 3000;
const ASK_AGAIN_MS = 500;
const DISCONNECT_MS_MAX = 2000;

/** Of `CLUSTER SLOTS`: first and last slot, then the servers that have them, the primary first. */
const slotsReply = z.array(z.tuple([z.number(), z.number()]).rest(z.unknown()));
const nodeReply = z.tuple([z.string().nullable(), z.number()]).rest(z.unknown());

type NodeOptions = Pick<RedisOptions, 'username' | 'password' | 'tls' | 'connectTimeout'>;

/**
 * Leads each connection to the server of a cluster that is the primary of the prefix's slot now. It asks the servers that
 * it was given, and those that they name, one after the other, until one tells.
 */
export function slotMaster(nodes: readonly Node[], prefix: string, options: NodeOptions): new () => AbstractConnector {
  let known = nodes;

  /** The next connection asks another one: what this one tells may be old. */
  function nextToAsk(): Node | undefined {
    const [first] = known;
    known = [...known.slice(1), ...known.slice(0, 1)];
    return first;
  }

  async function find(): Promise<Node> {
    const asked = nextToAsk();
    if (asked === undefined) throw new Error('no server of the cluster is known');
    const { master, others } = await askForMaster(asked, prefix, options);
    const isNew = (node: Node): boolean => !known.some(({ host, port }) => host === node.host && port === node.port);
    known = [...known, ...others.filter(isNew)];
    return master;
  }

  return class SlotMaster extends AbstractConnector {
    constructor() {
      super(DISCONNECT_MS_MAX);
    }

    override check({ role }: { role?: string }): boolean {
      return role === undefined || role === 'master';
    }

    /** Never rejects but when it was disconnected: the client would not try again. */
    override async connect(tell: (type: string, error: Error) => void): Promise<typeof this.stream> {
      this.connecting = true;
      for (;;) {
        const master = await find().catch((error: unknown) => {
          tell('error', error instanceof Error ? error : new Error(String(error)));
        });
        if (!this.connecting) throw new Error('Connection is closed.');
        if (master !== undefined) return this.open(master);
        await delay(ASK_AGAIN_MS);
      }
    }

    private open(master: Node): typeof this.stream {
      this.stream = options.tls === undefined ? createConnection(master) : connectTls({ ...master, ...options.tls });
      this.stream.once('error', (error: Error) => {
        this.firstError = error;
      });
      return this.stream;
    }
  };
}

async function askForMaster(
  asked: Node,
  prefix: string,
  options: NodeOptions,
): Promise<{ master: Node; others: readonly Node[] }> {
  const redis = new Redis({
    ...options,
    ...asked,
    lazyConnect: true,
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: null,
    commandTimeout: ASK_MS_MAX,
  });
  redis.on('error', () => {});
  try {
    await redis.connect();
    const slot = await redis.cluster('KEYSLOT', prefix);
    const ranges = slotsReply.parse(await redis.cluster('SLOTS'));
    const nodesOf = ([, , ...servers]: readonly unknown[]): Node[] => servers.map((server) => nodeOf(server, asked));
    const [master] = ranges.filter(([first, last]) => first <= slot && slot <= last).flatMap(nodesOf);
    if (master === undefined) throw new Error(`CLUSTERDOWN no server has the slot of ${prefix}`);
    return { master, others: ranges.flatMap(nodesOf) };
  } finally {
    redis.disconnect();
  }
}

/** A server that does not know its own address is the one that was asked. */
function nodeOf(server: unknown, asked: Node): Node {
  const [host, port] = nodeReply.parse(server);
  return { host: host === null || host === '' ? asked.host : host, port };
}
