import type { Redis } from 'ioredis';
import { vi } from 'vitest';
import type { Place } from './network.ts';
import { PASSWORD, PRIMARY_NAME, type Server, type Servers } from './redis-servers.ts';

const WATCHED_MS_MAX = 60_000;

/** A primary and two replicas, each with a sentinel at its side. */
export interface Sentinels {
  readonly url: string;
  /** In the order of the places; the first one begins as the primary. */
  readonly redis: readonly Server[];
  /** A way to the primary that the last sentinel names. */
  readonly ledger: () => Promise<Redis>;
  /** Whether that is another one than the first. */
  readonly hasChanged: () => Promise<boolean>;
}

/** Starts them, and waits until every sentinel knows of all the others: before that none of them would fail over. */
export async function openSentinels(
  servers: Servers,
  places: readonly Place[],
  args: readonly string[],
): Promise<Sentinels> {
  const [first, ...others] = places;
  if (first === undefined) throw new Error('there is no place for a primary');
  const primary = await servers.redis(first, ...args);
  const follow = ['--replicaof', `${first.address} ${primary.port}`, ...args];
  const replicas = await Promise.all(others.map((place) => servers.redis(place, ...follow)));
  const isFollowed = async (): Promise<boolean> =>
    (await primary.client.info('replication')).split('state=online').length - 1 === replicas.length;
  await vi.waitUntil(isFollowed, { timeout: WATCHED_MS_MAX });
  const sentinels = await Promise.all(places.map((place) => servers.sentinel(place, primary)));
  const all = `status=ok,address=${first.address}:${primary.port},slaves=${replicas.length},sentinels=${places.length}`;
  for (const { client } of sentinels) {
    const seesAll = async (): Promise<boolean> => (await client.info('sentinel')).includes(all);
    await vi.waitUntil(seesAll, { timeout: WATCHED_MS_MAX });
  }
  const redis = [primary, ...replicas];

  async function present(): Promise<Server> {
    const told = await sentinels.at(-1)?.client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', PRIMARY_NAME);
    const port = Array.isArray(told) ? Number(told[1]) : 0;
    const server = redis.find((one) => one.port === port);
    if (server === undefined) throw new Error('the sentinel names no server of ours');
    return server;
  }

  const hosts = sentinels.map(({ place, port }) => `${place.address}:${port}`).join(',');
  return {
    url: `redis+sentinel://:${PASSWORD}@${hosts}/${PRIMARY_NAME}`,
    redis,
    ledger: async () => (await present()).client,
    hasChanged: async () => (await present()) !== primary,
  };
}
