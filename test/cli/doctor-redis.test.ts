import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { infoFields } from '../../src/redis/durability.ts';
import { knownFaultsOf } from '../../src/redis/known-faults.ts';
import { type NetworkRedis, startNetworkRedis } from '../support/network-redis.ts';
import { ROOT } from '../support/payrun-processes.ts';
import { startTestRedis } from '../support/redis.ts';
import { doctorSchema, parsed, usePayrun } from './payrun.ts';

const PROD = {
  PAYRUN_SERVICE_URL: 'https://127.0.0.1:1',
  PAYRUN_CLIENT_ID: 'client',
  PAYRUN_CLIENT_SECRET: 'other',
  PAYRUN_TENANT_ID: 'acme',
  PAYRUN_CONFIRM_PROD: 'acme',
  PAYRUN_ENVIRONMENT: 'prod',
};

const payrun = usePayrun();
let open: NetworkRedis;
let guarded: NetworkRedis;
/** What this machine's server is known for. */
let faults: readonly string[];

beforeAll(async () => {
  [open, guarded] = await Promise.all([startNetworkRedis(), startNetworkRedis('--requirepass', 'secret')]);
  const redis = new Redis(`redis://${open.host}`);
  faults = knownFaultsOf(infoFields(await redis.info()));
  redis.disconnect();
});
afterAll(async () => {
  await Promise.all([open, guarded].map((redis) => redis.stop()));
});

async function findingsOf(env: Readonly<Record<string, string>>) {
  const { code, stdout } = await payrun.run(['doctor', '--json'], env);
  const found = parsed(doctorSchema, stdout);
  return { code, of: (name: string) => found.find(({ check }) => check === name) };
}

test('doctor warns of a Redis over the network that lets anybody in, and all is well otherwise', async () => {
  const env = { REDIS_URL: `redis://${open.host}` };
  const { code, of } = await findingsOf(env);
  expect(of('Redis access')).toMatchObject({ ok: true, remedy: expect.stringContaining('docs/redis.acl') });
  expect(code).toBe(0);
  expect((await payrun.run(['doctor'], env)).stdout).toMatch(/^warning +Redis access +Redis lets in anybody/m);
});

test('doctor names a host whose workers did not shut down properly, and where workers live', async () => {
  const redis = new Redis(`redis://${open.host}`);
  const prefix = '{lost-host}';
  const now = Date.now();
  await redis.zadd(`${prefix}:bull:living`, now - 60_000, '7 gone.example', now + 10_000, '8 there.example');
  redis.disconnect();
  const { code, of } = await findingsOf({ REDIS_URL: `redis://${open.host}`, PAYRUN_PREFIX: prefix });
  const found = of('workers');
  expect(found).toMatchObject({ ok: true, remedy: expect.stringContaining('Check that host') });
  const seen = new Date(now - 70_000).toISOString();
  expect(found?.found).toBe(
    `there.example (process 8)\nhost gone.example was last seen at ${seen}, and did not shut down properly`,
  );
  expect(code).toBe(0);
});

test('doctor calls it not well in prod, also where our own address has a password', async () => {
  const { code, of } = await findingsOf({ ...PROD, REDIS_URL: `redis://:secret@${open.host}` });
  expect(of('Redis access')).toMatchObject({ ok: false, remedy: expect.stringContaining('"default" off') });
  expect(code).not.toBe(0);
});

test('doctor is content with one that wants a password, and names the faults of its version as a warning', async () => {
  const { code, of } = await findingsOf({ REDIS_URL: `redis://:secret@${guarded.host}` });
  expect(of('Redis access')).toMatchObject({ ok: true, remedy: null });
  const version = of('Redis');
  expect(version?.found.split('\n').slice(1)).toEqual(faults);
  expect([version?.ok, version?.remedy !== null]).toEqual([true, faults.length > 0]);
  expect(code).toBe(0);
});

test('doctor warns of a data directory into which others may look', async () => {
  const dataDir = mkdtempSync(join(ROOT, '.tmp-doctor-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const env = { REDIS_URL: `redis://:secret@${guarded.host}`, PAYRUN_DATA_DIR: dataDir };
  chmodSync(dataDir, 0o750);
  const { code, of } = await findingsOf(env);
  expect([code, of('data directory')]).toMatchObject([0, { ok: true, remedy: `chmod -R go= ${dataDir}` }]);
  chmodSync(dataDir, 0o700);
  expect((await findingsOf(env)).of('data directory')).toMatchObject({ ok: true, remedy: null });
});

test('doctor tells no remote fault of a Redis on a socket', async () => {
  const server = await startTestRedis();
  try {
    const { of } = await findingsOf({ REDIS_URL: server.url });
    expect(of('Redis')).toMatchObject({ ok: true, remedy: null, found: expect.not.stringContaining('CVE') });
    expect(of('Redis access')).toMatchObject({ ok: true, remedy: null });
  } finally {
    await server.stop();
  }
});
