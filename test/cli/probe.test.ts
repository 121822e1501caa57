import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { CAPABILITIES } from '../../src/config/config.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { readKnownService } from '../../src/service/capabilities-file.ts';
import { doctorSchema, parsed, usePayrun } from './payrun.ts';

const BENEFICIARY = '00000001-0000-4000-8000-000000000000';
const NO_REDIS = 'redis://:none@127.0.0.1:1';

const probeSchema = z.strictObject({
  host: z.string(),
  environment: z.literal('test'),
  tenant: z.string(),
  date: z.iso.datetime(),
  notFoundCodes: z.array(z.string()).optional(),
  capabilities: z.record(z.enum(CAPABILITIES), z.strictObject({ holds: z.boolean(), evidence: z.string().min(1) })),
  questions: z.array(
    z.strictObject({
      question: z.string(),
      asked: z.string(),
      verdict: z.enum(['yes', 'no', 'not known']),
      seen: z.string(),
      conclusion: z.string(),
      meaning: z.string(),
    }),
  ),
  requests: z.int(),
  payments: z.int(),
  file: z.string(),
});

let folder: string;
const payrun = usePayrun({ REDIS_URL: NO_REDIS });
let sandbox: Sandbox;
let settings: Record<string, string>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'payrun-probe-'));
  sandbox = await startSandbox({
    folder,
    switches: { quoteLifeMs: 1500, completesAfterMs: 100, answerDelayMs: { payments: 60 } },
    clock: systemClock,
    random: systemRandom,
  });
  const { clientId, clientSecret } = await sandbox.createCredential('probe', 'test');
  settings = {
    PAYRUN_SERVICE_URL: sandbox.url('test'),
    PAYRUN_CLIENT_ID: clientId,
    PAYRUN_CLIENT_SECRET: clientSecret,
    PAYRUN_TENANT_ID: sandbox.tenantId,
    PAYRUN_ENVIRONMENT: 'test',
    PAYRUN_NOT_FOUND_GAP: '200ms',
  };
}, 180_000);

afterAll(async () => {
  await sandbox?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('payrun probe', () => {
  test('refuses to begin without a beneficiary, and says how to get one', async () => {
    const { code, stderr } = await payrun.run(['probe'], settings);
    expect(code).toBe(2);
    expect(stderr).toMatch(/lists no beneficiary.*\n.*--beneficiary/);
  });

  test('announces the payments, answers each question and writes a file that production takes', async () => {
    await sandbox.registerIdentities('test', [{ identityId: BENEFICIARY, identityType: 'BENEFICIARY' }]);
    const { code, stdout, stderr } = await payrun.run(['probe'], settings);
    expect(stderr).toMatch(/^payrun probe makes 7 payments of 1\.00 USD .*simulated money/);
    for (let number = 1; number <= 12; number++) expect(stdout).toMatch(new RegExp(`^P${number} `, 'm'));
    expect(stdout).toContain('payment-visible-in-time');
    expect(code).toBe(0);
    const file = join(payrun.dir, 'capabilities.json');
    const known = await readKnownService({ service: sandbox, capabilitiesFile: file, assume: [] });
    expect(known.capabilities).toEqual(new Set(CAPABILITIES));
    expect(known.notFoundCodes).toEqual(new Set(['USR_002']));
    expect(readdirSync(payrun.dir).filter((name) => name.includes('part'))).toEqual([]);
    // Neither a private Redis nor a data directory was needed.
    expect(readdirSync(payrun.dir)).not.toContain('data');
  }, 180_000);

  test('tells doctor where the capabilities are known from', async () => {
    const file = join(payrun.dir, 'capabilities.json');
    const { stdout } = await payrun.run(['doctor', '--json'], { ...settings, PAYRUN_CAPABILITIES_FILE: file });
    const found = parsed(doctorSchema, stdout).find(({ check }) => check === 'capabilities');
    const { date } = z.object({ date: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8')));
    expect(found).toMatchObject({ ok: true, found: expect.stringContaining('all are known to hold') });
    expect(found?.found).toContain(`found ${date} at ${new URL(sandbox.url('test')).host}, test (${file})`);
  });

  test('ends with 5 and prints JSON when a capability does not hold', async () => {
    sandbox.switches.set({ takesExpiredQuotes: true });
    const { code, stdout } = await payrun.run(['probe', '--json', '--output', 'other.json'], settings);
    sandbox.switches.set({ takesExpiredQuotes: false });
    expect(code).toBe(5);
    const found = parsed(probeSchema, stdout);
    expect(found.capabilities['expired-quote-refused'].holds).toBe(false);
    expect(found.questions.find(({ question }) => question === 'P5')?.verdict).toBe('no');
    const held = await readKnownService({ service: sandbox, capabilitiesFile: found.file, assume: [] });
    expect(held.capabilities).toEqual(new Set(CAPABILITIES.filter((name) => name !== 'expired-quote-refused')));
  }, 180_000);

  test.each<[string, () => Record<string, string>, string[], number, RegExp]>([
    [
      'prod',
      () => ({
        ...settings,
        PAYRUN_SERVICE_URL: 'https://127.0.0.1:1',
        PAYRUN_ENVIRONMENT: 'prod',
        PAYRUN_CONFIRM_PROD: sandbox.tenantId,
      }),
      [],
      2,
      /never uses prod/,
    ],
    ['without a service', () => ({}), [], 2, /No payments service is configured/],
    ['a wrong identity', () => settings, ['--beneficiary', 'x'], 2, /--beneficiary must be a UUID/],
    [
      'wrong credentials',
      () => ({ ...settings, PAYRUN_CLIENT_SECRET: 'wrong' }),
      [],
      2,
      /refused to give an access token/,
    ],
  ])('refuses %s', async (...[, env, words, code, message]) => {
    const before = sandbox.book('test').length;
    const ended = await payrun.run(['probe', '--output', 'refused.json', ...words], env());
    expect(ended.code).toBe(code);
    expect(ended.stderr).toMatch(message);
    expect(readdirSync(payrun.dir)).not.toContain('refused.json');
    expect(sandbox.book('test')).toHaveLength(before);
  });
});
