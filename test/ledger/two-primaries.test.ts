import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openLedger } from '../../src/ledger/ledger.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { armingOf, connectArming, enterDir, freshRows, newLedger, payingRun, readPayout } from './test-ledger.ts';

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  listener.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function ownRedis(...extra: readonly string[]): Promise<TestRedis> {
  const server = await startTestRedis(...extra);
  onTestFinished(() => server.stop());
  return server;
}

test('of two primaries after a failover the old one arms nothing for a process whose other commands lead to the new one', async () => {
  const port = await freePort();
  const old = await ownRedis('--port', String(port), '--repl-diskless-sync-delay', '0');
  const next = await ownRedis();
  const [armOld, armNext] = [await connectArming(old), await connectArming(next)];
  onTestFinished(() => {
    armOld.disconnect();
    armNext.disconnect();
  });
  await next.redis.replicaof('127.0.0.1', port);
  await expect.poll(() => next.redis.info('replication')).toContain('master_link_status:up');
  const { ledger, keys, prefix } = await newLedger({ redis: old.redis, arming: armOld });
  const runId = await payingRun(ledger, freshRows(3));
  await expect.poll(() => next.redis.exists(keys.head)).toBe(1);
  await next.redis.replicaof('NO', 'ONE');
  await expect.poll(() => old.redis.info('replication')).toContain('connected_slaves:0');

  const straddling = openLedger({ redis: next.redis, arming: armOld }, { prefix, dataDirId: 'dir-a' });
  const other = openLedger({ redis: next.redis, arming: armNext }, { prefix, dataDirId: 'dir-b' });
  for (const dir of ['dir-a', 'dir-b', 'dir-a']) await enterDir(straddling, dir);
  const place = { runId, line: 2 };
  expect(await straddling.payouts.arm(armingOf(await readPayout(straddling, place)))).toEqual({
    armed: false,
    refusal: 'season',
  });
  expect(await other.payouts.arm(armingOf(await readPayout(other, place)))).toMatchObject({ armed: true });
});
