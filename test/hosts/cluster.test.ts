import { expect, onTestFinished, test } from 'vitest';
import { findRedisServer } from '../../src/redis/redis-server.ts';
import { openCluster } from './cluster.ts';
import { openFleet } from './fleet.ts';
import { openServers } from './redis-servers.ts';

const TEST_MS_MAX = 6 * 60_000;
const ROWS = 60;
const PREFIX = '{payrun-database}';

test('in a cluster, whose server for the prefix dies in the middle of a run, its replica takes over and each row is paid once', {
  timeout: TEST_MS_MAX,
}, async () => {
  const servers = openServers(await findRedisServer(undefined, (line) => console.error(line)));
  onTestFinished(() => servers.close());
  const replicas = ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '3'];
  const cluster = await openCluster(servers, PREFIX, replicas);
  const fleet = await openFleet({
    redisUrl: cluster.url,
    prefix: PREFIX,
    ledger: cluster.ledger,
    rows: ROWS,
    switches: ['answerDelayMs.payments=200'],
  });
  onTestFinished(() => fleet.close());
  await fleet.worker('one');
  await fleet.worker('two');
  await fleet.submit();
  await fleet.booked(10);
  await cluster.primary.kill();
  await fleet.until('another primary', async () => (await cluster.ledger()) === cluster.replica.client);
  expect(fleet.book().length).toBeLessThan(ROWS);
  await cluster.primary.start();
  expect(await fleet.settled()).toBe(0);
  expect(await fleet.faults()).toEqual([]);
  expect(await cluster.replica.client.dbsize()).toBeGreaterThan(0);
});
