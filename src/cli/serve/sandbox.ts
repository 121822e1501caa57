import { resolve } from 'node:path';
import { z } from 'zod';
import { type Clock, type Random, systemClock, systemRandom } from '../../clock.ts';
import { envFileText } from '../../config/env-file.ts';
import { Refusal } from '../../refusal.ts';
import { openSwitches } from '../../sandbox/faults/switch-journal.ts';
import { listSwitches, settingsOfText } from '../../sandbox/faults/switch-text.ts';
import { IDENTITY_TYPES, openIdentities } from '../../sandbox/identities.ts';
import { ENVIRONMENTS, type Environment } from '../../sandbox/operations.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { journalFile, openTenant } from '../../sandbox/tenant.ts';
import { type Credentials, openCredentials } from '../../sandbox/tokens/credentials.ts';
import { columns } from '../columns.ts';
import { command, type GivenOptions } from '../command.ts';

const FOLDER_DEFAULT = '.payrun/sandbox-service';
const PORT_DEFAULT = '4010';
const PORT_MAX = 65_535;

const system: { clock: Clock; random: Random } = { clock: systemClock, random: systemRandom };

const port = z
  .string()
  .regex(/^[0-9]{1,5}$/, 'must be a port number')
  .transform((text) => Number.parseInt(text, 10))
  .refine((number) => number <= PORT_MAX, { error: `must be at most ${PORT_MAX}` });
const folder = z
  .string()
  .min(1, 'must not be empty')
  .transform((path) => resolve(path));

/** What all of them share with `payrun sandbox` itself. */
const shared = {
  port: ['<number>', 'port of the test environment, 0 for any', port, PORT_DEFAULT],
  prodPort: ['<number>', 'port of the prod environment; not served without', port.optional()],
  host: ['<address>', 'address to listen on', z.string().min(1, 'must not be empty'), '127.0.0.1'],
  folder: ['<dir>', 'folder with everything the service knows', folder, FOLDER_DEFAULT],
} as const;
const inFolder = { folder: shared.folder };
const environment = ['<environment>', 'test or prod', z.enum(ENVIRONMENTS), 'test'] as const;

const setCommand = command(
  'set',
  {
    about: "change the folder's switches for good; a sandbox that runs on it takes them at its next request",
    takes: { '[name=value...]': 'switches; see "payrun sandbox switches"' },
    options: { defaults: 'set all others back to their defaults' },
    above: inFolder,
    examples: ['payrun sandbox set tooMany=0.1 retryAfter=2', 'payrun sandbox set --defaults'],
  },
  async ({ 'name=value': set, folder: path, defaults: fromDefaults }) => {
    await openTenant(path, system.random);
    const switches = await openSwitches(path, system.clock);
    try {
      await switches.write({ set, fromDefaults });
      const changed = listSwitches(switches.get()).filter(({ value, ...one }) => value !== one.default);
      for (const { name, value } of changed) console.log(`${name}=${value}`);
      if (changed.length === 0) console.error('All switches have their defaults.');
    } finally {
      await switches.close();
    }
  },
);

const switchesCommand = command(
  'switches',
  { about: 'list all switches with their defaults and what they do', options: { json: 'print JSON' } },
  async ({ json }) => {
    const switches = listSwitches().map(({ value: _value, ...one }) => one);
    if (json) console.log(JSON.stringify(switches));
    else console.log(columns(switches.map((one) => [one.name, String(one.default), one.meaning])));
  },
);

const createCommand = command(
  'create',
  {
    about: 'create a credential; its secret is shown this once',
    takes: { '<name>': '' },
    options: { environment, json: 'print JSON', env: 'print lines of settings, for payrun.env' },
    above: shared,
    examples: ['(umask 077; payrun sandbox --port 4010 credential create demo --env > payrun.env)'],
  },
  async ({ name, json, env, ...given }) => {
    const { tenantId } = await openTenant(given.folder, system.random);
    const created = await withCredentials(given.folder, given.environment, (credentials) => credentials.create(name));
    if (json) console.log(JSON.stringify({ tenantId, environment: given.environment, ...created }));
    else if (env) process.stdout.write(envFileText(settingsOf({ ...created, tenantId }, given)));
    else {
      console.log(`client id        ${created.clientId}`);
      console.log(`client secret    ${created.clientSecret}`);
      console.log(`tenant           ${tenantId}`);
      console.error('The secret is shown this once and cannot be had again.');
    }
  },
);

const revokeCommand = command(
  'revoke',
  {
    about: 'revoke a credential and every token that it asked for',
    takes: { '<client-id>': '' },
    above: inFolder,
  },
  async ({ 'client-id': clientId, folder: path }) => {
    await openTenant(path, system.random);
    for (const one of ENVIRONMENTS) {
      if (await withCredentials(path, one, (credentials) => credentials.revoke(clientId))) {
        console.log(`revoked in ${one}`);
        return;
      }
    }
    throw new Refusal(
      'The folder has no credential with this client id',
      `Compare the client id, and name the sandbox's folder with --folder (now ${path}).`,
    );
  },
);

const addCommand = command(
  'add',
  {
    about: 'register identities of one type',
    takes: { '<id...>': ['', z.array(z.guid('must be UUIDs'))] },
    options: { type: ['<type>', IDENTITY_TYPES.join(' or '), z.enum(IDENTITY_TYPES)], environment },
    above: inFolder,
  },
  async ({ id: ids, type: identityType, environment: of, folder: path }) => {
    await openTenant(path, system.random);
    const identities = await openIdentities(journalFile(path, of, 'identities'), system.clock);
    try {
      identities.add(ids.map((identityId) => ({ identityId, identityType })));
      await identities.synced();
    } finally {
      await identities.close();
    }
    console.log(`${ids.length} registered as ${identityType} in ${of}`);
  },
);

/** `payrun sandbox`: the simulated payments service, its credentials and its identities. */
export const sandboxCommand = command(
  'sandbox',
  {
    options: {
      ...shared,
      set: ['<name=value...>', 'set switches', z.array(z.string()).default([])],
      anyIdentity: 'take identities that nobody registered',
    },
    examples: ['payrun sandbox --any-identity', 'payrun sandbox credential create demo --json'],
    parts: [
      setCommand,
      switchesCommand,
      command('credential', {
        about: 'create and revoke API credentials',
        parts: [createCommand, revokeCommand],
      }),
      command('identity', { about: 'register identities', parts: [addCommand] }),
    ],
  },
  async ({ set, anyIdentity, prodPort, ...given }) => {
    const switches = settingsOfText(set);
    const sandbox = await startSandbox({
      folder: given.folder,
      host: given.host,
      ports: { test: given.port, ...(prodPort === undefined ? {} : { prod: prodPort }) },
      switches: anyIdentity ? { ...switches, acceptsAnyIdentity: true } : switches,
      ...system,
    });
    try {
      const stopped = nextSignal();
      console.log(`test      ${sandbox.url('test')}`);
      if (prodPort !== undefined) console.log(`prod      ${sandbox.url('prod')}`);
      console.log(`tenant    ${sandbox.tenantId}`);
      console.error('Simulated: no money moves. For a credential: payrun sandbox credential create NAME');
      await stopped;
    } finally {
      await sandbox.close();
    }
  },
);

async function nextSignal(): Promise<void> {
  return new Promise((stop) => {
    process.once('SIGINT', () => stop());
    process.once('SIGTERM', () => stop());
  });
}

/** What payrun needs to pay through this sandbox, at the address that its options give it. */
function settingsOf(
  { tenantId, clientId, clientSecret }: { tenantId: string; clientId: string; clientSecret: string },
  { folder: path, environment: of, host, ...ports }: GivenOptions<typeof shared & { environment: typeof environment }>,
): Readonly<Record<string, string>> {
  return {
    PAYRUN_SERVICE_URL: `http://${host}:${(of === 'prod' ? ports.prodPort : undefined) ?? ports.port}`,
    PAYRUN_ENVIRONMENT: of,
    PAYRUN_TENANT_ID: tenantId,
    PAYRUN_CLIENT_ID: clientId,
    PAYRUN_CLIENT_SECRET: clientSecret,
    PAYRUN_DATA_DIR: `${path}-payer`,
  };
}

/** A sandbox that is running on the folder notices what is done here at its next request. */
async function withCredentials<Result>(
  path: string,
  of: Environment,
  use: (credentials: Credentials) => Promise<Result>,
): Promise<Result> {
  const credentials = await openCredentials(journalFile(path, of, 'credentials'), system);
  try {
    return await use(credentials);
  } finally {
    await credentials.close();
  }
}
