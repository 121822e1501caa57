import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { App } from '../../src/app.ts';
import type { EnvironmentVariables } from '../../src/config/config.ts';
import { capabilitiesThatHold } from '../../src/ledger/intents/safety.ts';
import { durationWords } from '../../src/web/settings/words.ts';
import { PRIVATE_KEY, SIGNING_KEY } from '../report/signed-reports.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

vi.setConfig({ testTimeout: 180_000 });

const server = await useTestRedis();

function tempDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'payrun-settings-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function configFile(parts: object): EnvironmentVariables {
  const path = join(tempDir(), 'config.json');
  writeFileSync(path, JSON.stringify(parts));
  return { PAYRUN_CONFIG: path };
}

const SERVICE: EnvironmentVariables = {
  PAYRUN_SERVICE_URL: 'https://payments.example.com',
  PAYRUN_CLIENT_ID: 'canary-client',
  PAYRUN_CLIENT_SECRET: 'canary-secret',
  PAYRUN_TENANT_ID: 'acme',
  PAYRUN_ENVIRONMENT: 'test',
  PAYRUN_PROXY: 'http://canary-user:canary-password@proxy.example.com:3128',
};

async function audited(app: App): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of app.ledger.audit.lines()) lines.push(line);
  return lines;
}

describe('the settings page', () => {
  test('says whose money moves, and nothing by which the service or a proxy could be signed in to', async () => {
    const env = { ...SERVICE, PAYRUN_DATA_DIR: tempDir(), PAYRUN_ASSUME: 'expired-quote-refused' };
    const { person } = await openWebRig(server.url, { env });
    const { text } = await (await person('anna', 'viewer')).get('/settings');
    expect(text).toMatch(/<html lang="en" class="test"/);
    for (const shown of ['https://payments.example.com', 'acme', 'proxy.example.com:3128'])
      expect(text).toContain(shown);
    expect(text).toContain('holds: assumed by PAYRUN_ASSUME');
    expect(text).toContain('is not known.');
    expect(text).not.toContain('canary');
  });

  test('shows the public half of the key that signs reports, and nothing of the private one', async () => {
    const { person } = await openWebRig(server.url, { env: { PAYRUN_SIGNING_KEY: PRIVATE_KEY } });
    const { text } = await (await person('anna', 'viewer')).get('/settings');
    const [, publicKey = ''] = SIGNING_KEY.pem.split('\n');
    expect(text).toContain(publicKey);
    expect(text).toContain(SIGNING_KEY.id);
    expect(text).not.toContain(PRIVATE_KEY.split('\n')[1]);
  });

  test('shows the evidence of capabilities that were found out', async () => {
    const path = join(tempDir(), 'capabilities.json');
    const evidence = 'three <b>payments</b> made';
    const found = {
      host: 'payments.example.com',
      environment: 'test',
      tenant: 'acme',
      date: '2026-01-31T10:00:00.000Z',
    };
    writeFileSync(
      path,
      JSON.stringify({ ...found, capabilities: { 'one-payment-per-quote': { holds: true, evidence } } }),
    );
    const env = { ...SERVICE, PAYRUN_DATA_DIR: tempDir(), PAYRUN_CAPABILITIES_FILE: path };
    const { person } = await openWebRig(server.url, { env });
    const { text } = await (await person('anna', 'viewer')).get('/settings');
    expect(text).toContain('found at payments.example.com on 2026-01-31: three &lt;b>payments&lt;/b> made');
  });

  test('tells limits and approval in words', async () => {
    const env = configFile({
      limits: { zone: 'Europe/Berlin', currencies: { EUR: { payout: '1000.00', day: '250000' } } },
      approval: {
        mode: 'tiers',
        holds: '2d',
        tiers: {
          EUR: [
            { from: '0', approvals: 0 },
            { from: '10000', approvals: 2 },
          ],
        },
      },
    });
    const { person } = await openWebRig(server.url, { env });
    const { text } = await (await person('anna', 'viewer')).get('/settings');
    expect(text).toContain('1,000.00 EUR for a payout; 250,000.00 EUR for a day');
    expect(text).toContain('midnight in Europe/Berlin');
    expect(text).toContain('from 0.00 EUR: nobody; from 10,000.00 EUR: 2 people');
    expect(text).toContain('2 days');
  });

  test('tells the banking days and cut-offs of each currency', async () => {
    const calendar = { zone: 'Europe/Berlin', opens: '08:00', cutOff: '16:30', holidays: ['2026-12-25'] };
    const { person } = await openWebRig(server.url, { env: configFile({ calendars: { EUR: calendar } }) });
    const { text } = await (await person('anna', 'viewer')).get('/settings');
    expect(text).toContain(
      'from 08:00 to before 16:30 in Europe/Berlin; closed on Saturdays, Sundays, and on 2026-12-25',
    );
  });

  test('tells what Redis may lose, and what to set', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'viewer');
    expect((await anna.get('/settings')).text).toContain('what it acknowledges lasts');
    await server.redis.config('SET', 'appendfsync', 'everysec');
    try {
      const { text } = await anna.get('/settings');
      expect(text).toContain('it may lose what it acknowledged (not accepted)');
      expect(text).toContain('CONFIG SET appendfsync always');
    } finally {
      await server.redis.config('SET', 'appendfsync', 'always');
    }
  });

  test('names the data directories that keep the season closed', async () => {
    const { app, person } = await openWebRig(server.url);
    const anna = await person('anna', 'viewer');
    expect((await anna.get('/settings')).text).toContain('open: payments may be sent');
    await server.redis.hset(`${app.config.prefix}:dirs`, 'another-directory', 'another-server');
    await server.redis.hdel(`${app.config.prefix}:head`, 'season');
    const { missing, open } = await app.ledger.state.season();
    const { text } = await anna.get('/settings');
    expect(text.includes('closed: nothing is sent')).toBe(!open);
    for (const one of missing) expect(text).toContain(one);
    expect(missing).toContain('another-directory');
  });

  test('can be had as CSV', async () => {
    const { app, person } = await openWebRig(server.url);
    const { text } = await (await person('anna', 'viewer')).get('/settings.csv');
    const rows = parse<Record<string, string>>(text, { columns: true });
    expect(rows).toContainEqual({ part: 'Redis', what: 'Durability', value: 'what it acknowledges lasts' });
    expect(rows).toContainEqual({ part: 'Safety settings', what: 'This process', value: app.safety });
  });
});

describe('the halt switch', () => {
  test('stops everything by one person, and every page then says so', async () => {
    const { app, person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    await anna.get('/settings');
    const answer = await anna.post('/halt', { reason: 'payments to <i>nowhere</i>' });
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/settings#halt']);
    expect((await app.ledger.state.read()).halt).toBe('payments to <i>nowhere</i>');
    expect((await anna.get('/runs')).text).toContain('payments to &lt;i>nowhere&lt;/i>');
    expect((await audited(app)).some((line) => line.includes('ledger.halted') && line.includes('anna'))).toBe(true);
  });

  test('asks for a reason, and for a role that may', async () => {
    const { app, person } = await openWebRig(server.url);
    const vera = await person('vera', 'viewer');
    expect((await vera.get('/settings')).text).not.toContain('Halt everything');
    expect((await vera.post('/halt', { reason: 'x' })).status).toBe(403);
    const anna = await person('anna', 'maker');
    await anna.get('/settings');
    expect((await anna.post('/halt', { reason: ' ' })).status).toBe(422);
    expect((await app.ledger.state.read()).halt).toBeNull();
  });

  test('is released by two, and shows who proposed it', async () => {
    const { app, person } = await openWebRig(server.url);
    const [anna, bob] = [await person('anna', 'maker'), await person('bob', 'checker')];
    await anna.get('/settings');
    await anna.post('/halt', { reason: 'a test' });
    expect((await anna.post('/release')).status).toBe(303);
    const own = await anna.get('/settings');
    expect(own.text).toContain('anna proposes to release it.');
    expect(own.text).not.toContain('Confirm: release');
    const again = await anna.post('/release');
    expect([again.status, again.text.includes('Another person has to look')]).toEqual([409, true]);
    expect((await app.ledger.state.read()).halt).toBe('a test');
    expect((await bob.get('/settings')).text).toContain('Confirm: release');
    expect((await bob.post('/release')).status).toBe(303);
    expect((await app.ledger.state.read()).halt).toBeNull();
  });
});

/** A web app that was started with other settings than its ledger has. */
async function openChanged(before: EnvironmentVariables, after: EnvironmentVariables) {
  const ledger = { PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: tempDir() };
  const { app } = await openWebRig(server.url, { env: { ...ledger, ...before } });
  const rig = await openWebRig(server.url, { env: { ...ledger, ...after } });
  return { ...rig, ledgerSafety: async () => (await app.ledger.state.read()).safety };
}

describe('changed safety settings', () => {
  test('are shown beside those of the ledger, and adopted by one admin where they are neither limits nor approval', async () => {
    const { app, person, ledgerSafety } = await openChanged({}, { PAYRUN_QUOTE_GRACE: '10m' });
    const anna = await person('anna', 'admin');
    const { text } = await anna.get('/settings');
    expect(text).toContain('quote grace 600000 ms');
    const before = await ledgerSafety();
    const carl = await person('carl', 'checker');
    expect((await carl.post('/settings/adopt', { before })).status).toBe(403);
    const answer = await anna.post('/settings/adopt', { before });
    expect(answer.headers.get('location')).toBe('/settings?adopted=adopted#safety');
    expect(await ledgerSafety()).toBe(app.safety);
    expect(capabilitiesThatHold(await app.ledger.state.read())).toMatchObject({ 'one-payment-per-quote': true });
  });

  test('of limits or approval are adopted by two admins', async () => {
    const { app, person, ledgerSafety } = await openChanged({}, configFile({ approval: { mode: 'on' } }));
    const [anna, bob] = [await person('anna', 'admin'), await person('bob', 'admin')];
    await anna.get('/settings');
    await bob.get('/settings');
    const before = await ledgerSafety();
    const outcomes = [];
    for (const one of [anna, anna, bob]) {
      outcomes.push((await one.post('/settings/adopt', { before })).headers.get('location'));
    }
    expect(outcomes).toEqual(['proposed', 'same-person', 'adopted'].map((word) => `/settings?adopted=${word}#safety`));
    expect(await ledgerSafety()).toBe(app.safety);
    const entries = (await audited(app)).filter((line) => line.includes('settings.'));
    expect(entries).toHaveLength(2);
  });

  test('are not adopted over others than were looked at', async () => {
    const { person, ledgerSafety } = await openChanged({}, { PAYRUN_QUOTE_GRACE: '10m' });
    const anna = await person('anna', 'admin');
    await anna.get('/settings');
    expect((await anna.post('/settings/adopt', { before: 'arm deadline 1 ms' })).status).toBe(409);
    expect(await ledgerSafety()).not.toContain('600000');
  });
});

test.each([
  [60_000, '1 minute'],
  [90_000, '90 seconds'],
  [7 * 86_400_000, '7 days'],
  [36 * 3_600_000, '36 hours'],
  [1500, '1,500 milliseconds'],
])('%d ms is shown as %s', (ms, words) => {
  expect(durationWords(ms)).toBe(words);
});
