import { mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openApp } from '../../src/app.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { silentLog } from '../../src/log.ts';
import { noCrash } from '../../src/pay/crash-point.ts';
import { letsAnybodyIn } from '../../src/redis/connect.ts';
import { type NetworkRedis, startNetworkRedis } from '../support/network-redis.ts';
import { freshPrefix, startTestRedis } from '../support/redis.ts';

const USER = ['--user', 'payrun', 'on', '>secret', '~*', '&*', '+@all'];

let open: NetworkRedis;
let half: NetworkRedis;
let guarded: NetworkRedis;
let closed: NetworkRedis;

beforeAll(async () => {
  [open, half, guarded, closed] = await Promise.all([
    startNetworkRedis(),
    startNetworkRedis(...USER),
    startNetworkRedis('--requirepass', 'secret'),
    startNetworkRedis('--user', 'default', 'off', ...USER),
  ]);
});
afterAll(() => Promise.all([open, half, guarded, closed].map((redis) => redis.stop())));

describe('a Redis over the network', () => {
  test('lets anybody in when it has no password, whatever our address says', async () => {
    expect(await letsAnybodyIn({ url: `redis://${open.host}` })).toBe(true);
    expect(await letsAnybodyIn({ url: `redis://:secret@${open.host}/3` })).toBe(true);
  });

  test('lets anybody in when only our own user has a password', async () => {
    expect(await letsAnybodyIn({ url: `redis://payrun:secret@${half.host}` })).toBe(true);
  });

  test('lets nobody in without a password or a user of its own', async () => {
    expect(await letsAnybodyIn({ url: `redis://:secret@${guarded.host}/3` })).toBe(false);
    expect(await letsAnybodyIn({ url: `redis://payrun:secret@${closed.host}` })).toBe(false);
  });

  test('that does not answer is refused, and no password is shown', async () => {
    await expect(letsAnybodyIn({ url: 'redis://:secret@127.0.0.1:1' })).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.not.stringContaining('secret'),
    });
  });
});

test('a Redis on a socket is not asked', async () => {
  const server = await startTestRedis();
  try {
    expect(await letsAnybodyIn({ url: server.url })).toBe(false);
    expect(await letsAnybodyIn({ socket: server.socket })).toBe(false);
  } finally {
    await server.stop();
  }
});

describe('payrun on a Redis over the network that lets anybody in', () => {
  const SERVICE = {
    PAYRUN_SERVICE_URL: 'https://127.0.0.1:1',
    PAYRUN_CLIENT_ID: 'client',
    PAYRUN_CLIENT_SECRET: 'other',
    PAYRUN_TENANT_ID: 'acme',
    PAYRUN_CONFIRM_PROD: 'acme',
  };

  /** Opens it and closes it; gives what it warned of. */
  async function warningsOf(
    environment: 'test' | 'prod',
    { host, readOnly = false, makesLedger = !readOnly }: { host: string; readOnly?: boolean; makesLedger?: boolean },
  ) {
    // The data directory of a service lies on a disk.
    const dir = mkdtempSync(resolve(import.meta.dirname, '../../.tmp-open-redis-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const warnings: string[] = [];
    const app = await openApp({
      config: readConfig({
        ...SERVICE,
        PAYRUN_ENVIRONMENT: environment,
        REDIS_URL: `redis://payrun:secret@${host}`,
        PAYRUN_PREFIX: freshPrefix(),
        PAYRUN_DATA_DIR: join(dir, 'data'),
      }),
      clock: systemClock,
      random: systemRandom,
      log: { ...silentLog, warn: (message) => warnings.push(message) },
      at: noCrash,
      readOnly,
      makesLedger,
      report: () => {},
      openJobs: () => ({ async wake() {}, workers: async () => [], async close() {} }),
    });
    await app.close();
    return warnings;
  }

  test('refuses to pay in prod and says how to close it; who only looks or stops is let through', async () => {
    await expect(warningsOf('prod', { host: half.host })).rejects.toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('without a password'),
      remedy: expect.stringMatching(/"default" off.*REDIS_URL_FILE/),
    });
    expect(await warningsOf('prod', { host: half.host, readOnly: true, makesLedger: true })).toEqual([]);
  });

  test('warns in test', async () => {
    expect(await warningsOf('test', { host: half.host })).toEqual([expect.stringContaining('without a password')]);
  });

  test('says nothing of one that wants a password', async () => {
    expect(await warningsOf('test', { host: closed.host })).toEqual([]);
    expect(await warningsOf('prod', { host: closed.host })).toEqual([]);
  });
});
