import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { LOOPBACK } from './network.ts';
import { PASSWORD, type Server, type Servers } from './redis-servers.ts';

const FORMED_MS_MAX = 60_000;
const SLOTS = 16_384;
const PRIMARIES = 3;

export interface Cluster {
  readonly url: string;
  /** The first primary of the slot of the key. */
  readonly primary: Server;
  readonly replica: Server;
  /** A way to the present one. */
  readonly ledger: () => Promise<Redis>;
}

/** Three primaries with a third of the slots each, and a replica of the one that has a key. */
export async function openCluster(servers: Servers, key: string, args: readonly string[]): Promise<Cluster> {
  const own = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '2500', '--cluster-replica-validity-factor', '0'];
  const nodes = await Promise.all(
    Array.from({ length: PRIMARIES + 1 }, async () => await servers.redis(LOOPBACK, ...own, ...args)),
  );
  const primaries = nodes.slice(0, PRIMARIES);
  const [first] = primaries;
  const replica = nodes[PRIMARIES];
  if (first === undefined || replica === undefined) throw new Error('there are no nodes');
  const share = Math.ceil(SLOTS / PRIMARIES);
  for (const [index, { client }] of primaries.entries()) {
    const last = Math.min((index + 1) * share, SLOTS) - 1;
    await client.call('CLUSTER', 'ADDSLOTSRANGE', index * share, last);
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
  }
  for (const { client } of nodes.slice(1)) await client.call('CLUSTER', 'MEET', '127.0.0.1', first.port);
  for (const { client } of nodes) {
    const known = async (): Promise<string> => String(await client.call('CLUSTER', 'INFO'));
    await expect
      .poll(known, { timeout: FORMED_MS_MAX })
      .toMatch(new RegExp(`cluster_state:ok[^]*cluster_known_nodes:${nodes.length}\r`));
  }
  const slot = Number(await first.client.call('CLUSTER', 'KEYSLOT', key));
  const primary = primaries[Math.floor(slot / share)] ?? first;
  await replica.client.call('CLUSTER', 'REPLICATE', String(await primary.client.call('CLUSTER', 'MYID')));
  await expect.poll(() => primary.client.info('replication'), { timeout: FORMED_MS_MAX }).toMatch(/state=online/);
  return {
    // Those that have not the key have to tell who has.
    url: `redis+cluster://:${PASSWORD}@${nodes
      .filter((node) => node !== primary && node !== replica)
      .map(({ port }) => `127.0.0.1:${port}`)
      .join(',')}`,
    primary,
    replica,
    ledger: async () => ((await isPrimary(replica)) ? replica : primary).client,
  };
}

async function isPrimary({ client }: Server): Promise<boolean> {
  return (await client.info('replication').catch(() => '')).includes('role:master');
}
