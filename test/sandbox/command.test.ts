import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { sandboxCommand } from '../../src/cli/serve/sandbox.ts';
import { readConfig } from '../../src/config/config.ts';
import { Refusal } from '../../src/refusal.ts';
import { BENEFICIARY, openDesk, openSandbox, QUOTE, send, temporaryFolder, tokenBody } from './desk.ts';

const printed: string[] = [];

/** Runs `payrun sandbox …` in this process; what it prints on standard output is in `printed`. */
async function payrunSandbox(...words: string[]): Promise<void> {
  vi.spyOn(console, 'log').mockImplementation((line: string) => void printed.push(line));
  vi.spyOn(console, 'error').mockImplementation(() => {});
  await sandboxCommand(() => {}).parseAsync(words, { from: 'user' });
}

afterEach(() => {
  printed.length = 0;
});

test('credential create prints id, secret and tenant, which a running sandbox takes', async () => {
  const folder = await temporaryFolder();
  const sandbox = await openSandbox({ folder });
  await payrunSandbox('credential', 'create', 'demo', '--folder', folder, '--json');
  const made = JSON.parse(printed.join(''));
  expect(made).toEqual({
    tenantId: sandbox.tenantId,
    environment: 'test',
    clientId: expect.any(String),
    clientSecret: expect.any(String),
  });
  const ask = () => send(`${sandbox.url('test')}/v2/oauth/token`, { method: 'POST', body: tokenBody(made) });
  expect((await ask()).status).toBe(200);

  await payrunSandbox('credential', 'revoke', made.clientId, '--folder', folder);
  expect((await ask()).status).toBe(401);
  await expect(payrunSandbox('credential', 'revoke', made.clientId, '--folder', folder)).rejects.toThrow(Refusal);
});

test('credential create without --json prints the same for people', async () => {
  const folder = join(await temporaryFolder(), 'made-by-the-command');
  await payrunSandbox('credential', 'create', 'demo', '--folder', folder, '--environment', 'prod');
  expect(printed.map((line) => line.replace(/\s.*$/, ''))).toEqual(['client', 'client', 'tenant']);
});

test('credential create --env prints the settings by which payrun pays through this sandbox', async () => {
  const folder = await temporaryFolder();
  const sandbox = await openSandbox({ folder });
  const written: string[] = [];
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  try {
    const { port } = new URL(sandbox.url('test'));
    await payrunSandbox('--port', port, 'credential', 'create', 'demo', '--folder', folder, '--env');
  } finally {
    stdout.mockRestore();
  }
  const { service, dataDir } = readConfig(parseEnv(written.join('')));
  expect(service).toMatchObject({ url: sandbox.url('test'), environment: 'test', tenantId: sandbox.tenantId });
  expect(dataDir).toBe(`${folder}-payer`);
  const body = tokenBody({
    clientId: service?.clientId ?? '',
    clientSecret: service?.clientSecret ?? '',
    tenantId: sandbox.tenantId,
  });
  expect((await send(`${sandbox.url('test')}/v2/oauth/token`, { method: 'POST', body })).status).toBe(200);
});

test('identity add registers identities for a running sandbox', async () => {
  const folder = await temporaryFolder();
  const desk = await openDesk({ folder });
  const id = '33333333-3333-4333-8333-333333333333';
  await payrunSandbox('identity', 'add', '--type', 'BENEFICIARY', '--folder', folder, id, BENEFICIARY);
  expect((await desk.pay({ quoteId: await desk.quoteId(), beneficiaryIdentityId: id })).status).toBe(201);
});

test('it serves until it is told to stop, and shows addresses and tenant', async () => {
  const folder = await temporaryFolder();
  const words = ['--port', '0', '--prod-port', '0', '--folder', folder, '--any-identity', '--set', 'quoteLifeMs=60000'];
  const running = payrunSandbox(...words);
  onTestFinished(async () => {
    process.emit('SIGTERM');
    await running;
  });
  await expect.poll(() => printed.length).toBe(3);
  const [url, prod, tenant] = printed.map((line) => line.split(/\s+/)[1] ?? '');
  expect(url).not.toBe(prod);

  await payrunSandbox('credential', 'create', 'demo', '--folder', folder, '--json');
  const made = JSON.parse(printed.at(-1) ?? '');
  expect(made.tenantId).toBe(tenant);
  const granted = await send(`${url}/v2/oauth/token`, { method: 'POST', body: tokenBody(made) });
  const token: string = granted.json.access_token;
  const quoted = await send(`${url}/v2/quotes/quote-collection`, { method: 'POST', token, body: QUOTE });
  const [{ quoteId, createdAt, expiresAt }] = quoted.json.quotes;
  expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(60_000);
  const body = { quoteId, beneficiaryIdentityId: BENEFICIARY };
  expect((await send(`${url}/v2/payments`, { method: 'POST', token, body })).status).toBe(201);

  process.emit('SIGTERM');
  await running;
  await openSandbox({ folder });
});

test('a sandbox that starts takes the switches of its folder, beside those that it is told', async () => {
  const folder = await temporaryFolder();
  await payrunSandbox('set', 'tokenFails=1', '--folder', folder);
  const running = payrunSandbox('--port', '0', '--folder', folder, '--set', 'answerDelayMs.quotes=1');
  onTestFinished(async () => {
    process.emit('SIGTERM');
    await running;
  });
  await expect.poll(() => printed.length).toBe(3);
  const url = printed[1]?.split(/\s+/)[1] ?? '';
  const body = tokenBody({ tenantId: '', clientId: 'nobody', clientSecret: 'nothing' });
  expect((await send(`${url}/v2/oauth/token`, { method: 'POST', body })).status).toBe(500);
});

test.each([
  [['--port', 'x']],
  [['--port', '70000']],
  [['--set', 'nothing=1']],
  [['set', 'nothing=1']],
  [['set', 'tooMany=2']],
  [['identity', 'add', '--type', 'FRIEND', BENEFICIARY]],
  [['identity', 'add', '--type', 'BENEFICIARY', 'no-uuid']],
  [['credential', 'create', 'demo', '--environment', 'staging']],
])('%j is refused', async (words) => {
  const folder = await temporaryFolder();
  await expect(payrunSandbox(...words, '--folder', folder)).rejects.toThrow(Refusal);
});

test('set changes the switches of a running sandbox, keeps them, and shows what differs', async () => {
  const folder = await temporaryFolder();
  const desk = await openDesk({ folder });
  await payrunSandbox('set', 'quoteFails=1', 'answerDelayMs.quotes=1', '--folder', folder);
  expect(printed).toEqual(['answerDelayMs.quotes=1', 'quoteFails=1']);
  expect((await desk.quote()).status).toBe(500);
  await payrunSandbox('set', '--defaults', 'tooMany=1', '--folder', folder);
  expect(printed.slice(2)).toEqual(['tooMany=1']);
  expect((await desk.quote()).status).toBe(201);
  await payrunSandbox('set', '--folder', folder);
  expect(printed.slice(3)).toEqual(['tooMany=1']);
});

test('switches lists every switch, for people and as JSON', async () => {
  await payrunSandbox('switches');
  const lines = printed.join('\n').split('\n');
  printed.length = 0;
  await payrunSandbox('switches', '--json');
  const switches = z
    .array(z.strictObject({ name: z.string(), default: z.unknown(), meaning: z.string() }))
    .parse(JSON.parse(printed.join('')));
  expect(switches).toHaveLength(lines.length);
  expect(switches.find(({ name }) => name === 'quoteLifeMs')).toMatchObject({ default: 20_000 });
});
