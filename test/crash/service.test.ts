import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { bookFaults, readBook, reportFaults, rowsOf } from '../support/paid-once.ts';
import { ROOT, useProcesses } from '../support/payrun-processes.ts';
import { type RelayedRequest, startRelay } from '../support/recording-relay.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { startService } from '../support/service-process.ts';

const MINUTE_MS = 60_000;
const SMALL = join(ROOT, 'samples/small.csv');
const PAYOUTS = join(ROOT, 'samples/payouts.csv');
const FOLLOW_QUICKLY = { PAYRUN_TRACK_RATE: '1000', PAYRUN_TRACK_EVERY: '1s' };

const processes = useProcesses();

function bodiesOf(requests: readonly RelayedRequest[], path: string): Record<string, unknown>[] {
  return requests
    .filter((request) => request.method === 'POST' && request.path === path)
    .map(({ body }) => JSON.parse(body) as Record<string, unknown>);
}

/** Fields of the interface page, sections 2.2 and 2.5, and of service-facts section 1. */
/** What the interface page lets a client read: a payment, and the identities of a type. */
const NAMED_READS = /^\/v2\/(?:payments\/[0-9a-f-]{36}|identities\?identityType=(?:BENEFICIARY|ORIGINATOR))$/;
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  '/v2/oauth/token': ['grant_type', 'client_id', 'client_secret', 'audience'],
  '/v2/quotes/quote-collection': [
    'quoteAmount',
    'quoteAmountType',
    'sourceCurrency',
    'destinationCurrency',
    'payoutCategory',
    'payinCategory',
    'sourceCountry',
    'destinationCountry',
  ],
  '/v2/payments': [
    'quoteId',
    'beneficiaryIdentityId',
    'originatorIdentityId',
    'internalId',
    'purposeCode',
    'sourceOfCash',
  ],
};

/** A payment request's fields as the file's row has them; what the row leaves empty is not there at all. */
function wantedFields(row: Readonly<Record<string, string>>): Record<string, string> {
  const fields = {
    beneficiaryIdentityId: row['beneficiaryIdentityId'] ?? '',
    originatorIdentityId: row['originatorIdentityId'] ?? '',
    internalId: row['reference'] ?? '',
    purposeCode: row['purposeCode'] ?? '',
    sourceOfCash: row['sourceOfCash'] ?? '',
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}

describe('a service of its own, given by the five settings', () => {
  test(
    'is sent each row of the file once, with its amounts, identities and codes, and nothing that the page does not name',
    async () => {
      const file = readFileSync(PAYOUTS, 'utf8');
      const rows = rowsOf(file);
      const service = await startService(processes, {
        identities: {
          BENEFICIARY: [...new Set(rows.map((row) => row['beneficiaryIdentityId'] ?? ''))],
          ORIGINATOR: [...new Set(rows.map((row) => row['originatorIdentityId'] ?? ''))].filter(Boolean),
        },
      });
      const relay = await startRelay(service.url);
      const data = join(processes.folder(), 'data');
      const settings = service.settings(relay.url);
      const env = { ...settings, ...FOLLOW_QUICKLY, PAYRUN_DATA_DIR: data };

      const first = await processes.run(['run', PAYOUTS], { env });
      expect(first).toMatchObject({ code: 0 });
      expect(first.stdout).not.toContain('no money moved');
      const book = readBook(service.folder);
      expect(bookFaults(file, book)).toEqual([]);
      const report = /^report (.+\.csv)$/m.exec(first.stdout)?.[1] ?? '';
      expect(reportFaults(file, book, readFileSync(report, 'utf8'))).toEqual([]);

      const again = await processes.run(['run', PAYOUTS], { env });
      expect(again).toMatchObject({ code: 0 });
      expect(readBook(service.folder)).toEqual(book);

      const requests = relay.requests();
      await relay.close();
      for (const [path, fields] of Object.entries(FIELDS)) {
        const named = new Set(bodiesOf(requests, path).flatMap((body) => Object.keys(body)));
        const unknown = [...named].filter((name) => !fields.includes(name));
        expect({ path, unknown }).toEqual({ path, unknown: [] });
      }
      expect(bodiesOf(requests, '/v2/oauth/token')).toEqual([
        {
          grant_type: 'client_credentials',
          client_id: settings['PAYRUN_CLIENT_ID'],
          client_secret: settings['PAYRUN_CLIENT_SECRET'],
          audience: `urn:servicexcurrent-test:${settings['PAYRUN_TENANT_ID']}`,
        },
      ]);
      const payments = bodiesOf(requests, '/v2/payments');
      const byReference = new Map(payments.map(({ quoteId: _quoteId, ...body }) => [body['internalId'], body]));
      expect(payments).toHaveLength(rows.length);
      expect(new Set(payments.map(({ quoteId }) => quoteId)).size).toBe(rows.length);
      expect(rows.map((row) => byReference.get(row['reference'] ?? ''))).toEqual(rows.map(wantedFields));
      const others = requests.filter(({ path, method }) => FIELDS[path] === undefined || method !== 'POST');
      expect(others.filter(({ method, path }) => method !== 'GET' || !NAMED_READS.test(path))).toEqual([]);
      expect(others.filter(({ body }) => body !== '')).toEqual([]);
    },
    3 * MINUTE_MS,
  );
});

describe('a ledger belongs to one service', () => {
  let server: TestRedis;

  beforeAll(async () => {
    server = await startTestRedis();
  });

  afterAll(async () => {
    await server.stop();
  });

  test.each(['sandbox', 'service'] as const)(
    'that of a run through the %s is refused to the other, and nothing is written',
    async (first) => {
      await server.redis.flushall();
      const service = await startService(processes);
      const data = join(processes.folder(), 'data');
      const common = { REDIS_URL: server.url, PAYRUN_DATA_DIR: data };
      const own = { ...common };
      const real = { ...common, ...FOLLOW_QUICKLY, ...service.settings() };
      const [env, other] = first === 'sandbox' ? [own, real] : [real, own];
      expect(await processes.run(['run', SMALL], { env })).toMatchObject({ code: 0 });
      await vi.waitUntil(() => hasOnlyLastingKeys(server.redis), { timeout: 2 * MINUTE_MS, interval: 100 });
      const before = { redis: await contentOf(server.redis), files: filesBelow(data) };
      const booked = readBook(service.folder);

      for (const words of [
        ['run', SMALL],
        ['submit', SMALL, ...(first === 'sandbox' ? [] : ['--sandbox'])],
        ['worker', ...(first === 'sandbox' ? [] : ['--sandbox'])],
      ]) {
        const refused = await processes.run(words, { env: other });
        expect(refused).toMatchObject({ code: 2, stdout: '' });
        expect(refused.stderr).toContain('The ledger belongs to another service');
      }
      expect({ redis: await contentOf(server.redis), files: filesBelow(data) }).toEqual(before);
      expect(readBook(service.folder)).toEqual(booked);
    },
    3 * MINUTE_MS,
  );
});

/** Whether the marks of a sweep's turn and of a pace are gone; the token lasts for an hour. */
async function hasOnlyLastingKeys(redis: Redis): Promise<boolean> {
  const lives = await Promise.all((await redis.keys('*')).map((key) => redis.pttl(key)));
  return lives.every((ms) => ms === -1 || ms > MINUTE_MS);
}

/** Each key with a digest of its value. */
async function contentOf(redis: Redis): Promise<Record<string, string>> {
  const keys = (await redis.keys('*')).toSorted();
  const entries = await Promise.all(
    keys.map(async (key) => [key, digestOf((await redis.dumpBuffer(key)) ?? '')] as const),
  );
  return Object.fromEntries(entries);
}

function filesBelow(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name)).toSorted();
  return Object.fromEntries(paths.map((path) => [path, digestOf(readFileSync(path))]));
}

function digestOf(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('hex');
}
