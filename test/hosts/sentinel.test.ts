import { expect, type TestContext, test } from 'vitest';
import { connectRedis } from '../../src/redis/connect.ts';
import { readDurability } from '../../src/redis/durability.ts';
import { findOnPath, findRedisServer, type RedisServer } from '../../src/redis/redis-server.ts';
import { type Fleet, type FleetOptions, openFleet } from './fleet.ts';
import { type Host, LOOPBACK, missingNetwork, openNetwork, type Place } from './network.ts';
import { openServers } from './redis-servers.ts';
import { openSentinels, type Sentinels } from './sentinels.ts';

type OnEnd = TestContext['onTestFinished'];

const TEST_MS_MAX = 6 * 60_000;
const SLOWLY = { rows: 60, switches: ['answerDelayMs.payments=200'] } as const;
/** A primary that has no replica any more takes no writes after a few seconds, and none is armed before. */
const WITH_REPLICAS = ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '3'];
/** A primary that goes on alone once it has noticed that its replicas are gone. */
const ALONE = ['--repl-timeout', '3'];

interface GroupOptions {
  readonly places: readonly Place[];
  readonly args: readonly string[];
  /** Redis unless told. */
  readonly program?: RedisServer;
}

async function openGroup(onEnd: OnEnd, { places, args, program }: GroupOptions): Promise<Sentinels> {
  const servers = openServers(program ?? (await findRedisServer(undefined, (line) => console.error(line))));
  onEnd(() => servers.close());
  return await openSentinels(servers, places, args);
}

async function fleetOn(group: Sentinels, onEnd: OnEnd, options: Partial<FleetOptions> = {}): Promise<Fleet> {
  const fleet = await openFleet({ redisUrl: group.url, ledger: group.ledger, ...SLOWLY, ...options });
  onEnd(() => fleet.close());
  return fleet;
}

async function failOver(onEnd: OnEnd, program?: RedisServer): Promise<string[]> {
  const places = [LOOPBACK, LOOPBACK, LOOPBACK];
  const group = await openGroup(onEnd, { places, args: WITH_REPLICAS, ...(program === undefined ? {} : { program }) });
  const fleet = await fleetOn(group, onEnd);
  await fleet.worker('one');
  await fleet.worker('two');
  await fleet.submit();
  await fleet.booked(10);
  await group.redis[0]?.kill();
  await fleet.until('another primary', group.hasChanged);
  expect(fleet.book().length).toBeLessThan(SLOWLY.rows);
  // Nothing that was acknowledged is lost, so that nobody has anything to release.
  expect(await fleet.settled()).toBe(0);
  return await fleet.faults();
}

const valkey = process.env['PAYRUN_TEST_VALKEY'] ?? (await findOnPath(['valkey-server']));
const noValkey = valkey === undefined ? ' (no valkey-server on the PATH, and no PAYRUN_TEST_VALKEY)' : '';

test.concurrent(
  'behind sentinels, a primary that dies in the middle of a run is replaced, and each row is paid once',
  { timeout: TEST_MS_MAX },
  async ({ onTestFinished }) => expect(await failOver(onTestFinished)).toEqual([]),
);

test
  .skipIf(valkey === undefined)
  .concurrent(
    `the same with Valkey in the place of Redis${noValkey}`,
    { timeout: TEST_MS_MAX },
    async ({ onTestFinished }) =>
      expect(await failOver(onTestFinished, { command: valkey ?? '', env: {} })).toEqual([]),
  );

test.concurrent('behind sentinels a primary must wait for replicas, even while it has none', {
  timeout: TEST_MS_MAX,
}, async ({ onTestFinished }) => {
  const { url, redis } = await openGroup(onTestFinished, { places: [LOOPBACK], args: [] });
  const connection = await connectRedis({ url }, { name: 'test', kind: 'commands' });
  onTestFinished(() => connection.disconnect());
  const finding = { setting: 'min-replicas-to-write', found: '0', wanted: '1' };
  expect(await readDurability(connection)).toMatchObject([finding]);
  await redis[0]?.client.config('SET', 'min-replicas-to-write', '1');
  expect(await readDurability(connection)).toEqual([]);
});

/** Three hosts with a Redis, a sentinel and room for a worker each, and one with the service, which all of them reach. */
function openHosts(onEnd: OnEnd): { hosts: readonly Host[]; places: readonly Place[]; service: Place } {
  const network = openNetwork();
  onEnd(() => network.close());
  const hosts = ['first', 'second', 'third'].map((name) => network.host(name));
  const service = network.host('service');
  return {
    hosts,
    places: hosts.map(({ addresses, through }) => ({ address: addresses.ledger, through })),
    service: { address: service.addresses.service, through: service.through },
  };
}

const missing = missingNetwork();
const why = missing === undefined ? '' : ` (${missing})`;
const split = 'a split that leaves one worker alone with the old primary';

test
  .skipIf(missing !== undefined)
  .concurrent(
    `${split} sends nothing on either side, goes on when it has healed, and each row is paid once${why}`,
    { timeout: TEST_MS_MAX },
    async ({ onTestFinished: onEnd }) => {
      const { hosts, places, service } = openHosts(onEnd);
      const group = await openGroup(onEnd, { places, args: WITH_REPLICAS });
      const fleet = await fleetOn(group, onEnd, { service });
      await fleet.worker('one', places[0]);
      const two = await fleet.worker('two', places[1]);
      await fleet.submit(places[0]);
      await fleet.booked(10);
      hosts[0]?.unplug('ledger');
      await fleet.until('another primary', group.hasChanged);
      await two.said('Redis is another one or was restarted');
      await fleet.nothingSentFor(4000);
      expect(await group.redis[0]?.client.info('replication')).toContain('role:master');
      hosts[0]?.plug('ledger');
      expect(await fleet.settled(places[1])).toBe(0);
      expect(await fleet.faults(places[1])).toEqual([]);
    },
  );

test
  .skipIf(missing !== undefined)
  .concurrent(
    `${split} and pays on there without replicas, as the operator had accepted, is found: all is halted, each row is paid once${why}`,
    { timeout: TEST_MS_MAX },
    async ({ onTestFinished: onEnd }) => {
      const { hosts, places, service } = openHosts(onEnd);
      const group = await openGroup(onEnd, { places, args: ALONE });
      const fleet = await fleetOn(group, onEnd, { service, settings: { PAYRUN_REDIS_DURABILITY: 'overridden' } });
      await fleet.worker('one', places[0]);
      await fleet.worker('two', places[1]);
      await fleet.submit(places[0]);
      await fleet.booked(6);
      hosts[0]?.unplug('ledger');
      await fleet.until('another primary', group.hasChanged);
      const [alone, other] = [fleet.intents('one'), fleet.intents('two')];
      await fleet.until('payments that the new primary does not know of', () => fleet.intents('one') >= alone + 6);
      expect(fleet.intents('two')).toBe(other);
      hosts[0]?.plug('ledger');
      expect(await fleet.settled(places[1])).toBeGreaterThan(0);
      expect(await fleet.faults(places[1])).toEqual([]);
    },
  );
