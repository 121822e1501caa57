import { resolve } from 'node:path';
import { Command } from 'commander';
import { z } from 'zod';
import { type Clock, type Random, systemClock, systemRandom } from '../../clock.ts';
import { envFileText } from '../../config/env-file.ts';
import { EXIT, Refusal } from '../../refusal.ts';
import { openSwitches } from '../../sandbox/faults/switch-journal.ts';
import { listSwitches, switchesOfText } from '../../sandbox/faults/switch-text.ts';
import { IDENTITY_TYPES, openIdentities } from '../../sandbox/identities.ts';
import { ENVIRONMENTS, type Environment } from '../../sandbox/operations.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import { journalFile, openTenant } from '../../sandbox/tenant.ts';
import { type Credentials, openCredentials } from '../../sandbox/tokens/credentials.ts';
import { columns } from '../columns.ts';

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
const environment = z.enum(ENVIRONMENTS);

const serveOptions = z.object({
  port,
  prodPort: port.optional(),
  host: z.string().min(1, 'must not be empty'),
  folder,
  set: z.array(z.string()),
  anyIdentity: z.boolean(),
});
const credentialOptions = z.object({
  folder,
  environment,
  host: z.string(),
  port,
  prodPort: port.optional(),
  json: z.boolean(),
  env: z.boolean(),
});
const setOptions = z.object({ folder, defaults: z.boolean() });
const revokeOptions = z.object({ folder });
const identityOptions = z.object({ folder, environment, type: z.enum(IDENTITY_TYPES) });
const identityIds = z.array(z.guid('must be UUIDs'));

/** `payrun sandbox`: the simulated payments service, its credentials and its identities. */
export function sandboxCommand(): Command {
  const command = new Command('sandbox')
    .option('--port <number>', 'port of the test environment, 0 for any', PORT_DEFAULT)
    .option('--prod-port <number>', 'port of the prod environment; not served without')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--folder <dir>', 'folder with everything the service knows', FOLDER_DEFAULT)
    .option('--set <name=value...>', 'set switches', [])
    .option('--any-identity', 'take identities that nobody registered', false)
    .addHelpText(
      'after',
      '\nExamples:\n  payrun sandbox --any-identity\n  payrun sandbox credential create demo --json',
    )
    .action(async (_options: unknown, self: Command) => serve(parse(serveOptions, self.opts())));
  command.addCommand(setCommand());
  command.addCommand(switchesCommand());
  command.addCommand(credentialCommand());
  command.addCommand(identityCommand());
  return command;
}

function setCommand(): Command {
  return new Command('set')
    .description("change the folder's switches for good; a sandbox that runs on it takes them at its next request")
    .argument('[name=value...]', 'switches; see "payrun sandbox switches"')
    .option('--defaults', 'set all others back to their defaults', false)
    .addHelpText('after', '\nExamples:\n  payrun sandbox set tooMany=0.1 retryAfter=2\n  payrun sandbox set --defaults')
    .action(async (set: string[], _options: unknown, self: Command) =>
      changeSwitches(set, parse(setOptions, self.optsWithGlobals())),
    );
}

function switchesCommand(): Command {
  return new Command('switches')
    .description('list all switches with their defaults and what they do')
    .option('--json', 'print JSON', false)
    .action((options: { json: boolean }) => printSwitches(options));
}

function credentialCommand(): Command {
  const command = new Command('credential').description('create and revoke API credentials');
  command
    .command('create <name>')
    .description('create a credential; its secret is shown this once')
    .option('--environment <environment>', 'test or prod', 'test')
    .option('--json', 'print JSON', false)
    .option('--env', 'print lines of settings, for payrun.env', false)
    .addHelpText(
      'after',
      '\nExample:\n  (umask 077; payrun sandbox --port 4010 credential create demo --env > payrun.env)',
    )
    .action(async (name: string, _options: unknown, self: Command) =>
      createCredential(name, parse(credentialOptions, self.optsWithGlobals())),
    );
  command
    .command('revoke <client-id>')
    .description('revoke a credential and every token that it asked for')
    .action(async (clientId: string, _options: unknown, self: Command) =>
      revokeCredential(clientId, parse(revokeOptions, self.optsWithGlobals())),
    );
  return command;
}

function identityCommand(): Command {
  const command = new Command('identity').description('register identities');
  command
    .command('add <id...>')
    .description('register identities of one type')
    .requiredOption('--type <type>', IDENTITY_TYPES.join(' or '))
    .option('--environment <environment>', 'test or prod', 'test')
    .action(async (ids: string[], _options: unknown, self: Command) =>
      addIdentities(parse(identityIds, ids), parse(identityOptions, self.optsWithGlobals())),
    );
  return command;
}

async function serve(options: z.output<typeof serveOptions>): Promise<void> {
  const { host, prodPort } = options;
  const switches = switchesOfText(options.set);
  const sandbox = await startSandbox({
    folder: options.folder,
    host,
    ports: { test: options.port, ...(prodPort === undefined ? {} : { prod: prodPort }) },
    switches: options.anyIdentity ? { ...switches, acceptsAnyIdentity: true } : switches,
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
}

async function nextSignal(): Promise<void> {
  return new Promise((stop) => {
    process.once('SIGINT', () => stop());
    process.once('SIGTERM', () => stop());
  });
}

async function changeSwitches(set: string[], options: z.output<typeof setOptions>): Promise<void> {
  await openTenant(options.folder, system.random);
  const switches = await openSwitches(options.folder, system.clock);
  try {
    await switches.write({ set, fromDefaults: options.defaults });
    const changed = listSwitches(switches.get()).filter(({ value, ...one }) => value !== one.default);
    for (const { name, value } of changed) console.log(`${name}=${value}`);
    if (changed.length === 0) console.error('All switches have their defaults.');
  } finally {
    await switches.close();
  }
}

function printSwitches({ json }: { json: boolean }): void {
  const switches = listSwitches().map(({ value: _value, ...one }) => one);
  if (json) console.log(JSON.stringify(switches));
  else console.log(columns(switches.map((one) => [one.name, String(one.default), one.meaning])));
}

async function createCredential(name: string, options: z.output<typeof credentialOptions>): Promise<void> {
  const { tenantId } = await openTenant(options.folder, system.random);
  const created = await withCredentials(options.folder, options.environment, (credentials) => credentials.create(name));
  if (options.json) {
    console.log(JSON.stringify({ tenantId, environment: options.environment, ...created }));
    return;
  }
  if (options.env) {
    process.stdout.write(envFileText(settingsOf({ ...created, tenantId }, options)));
    return;
  }
  console.log(`client id        ${created.clientId}`);
  console.log(`client secret    ${created.clientSecret}`);
  console.log(`tenant           ${tenantId}`);
  console.error('The secret is shown this once and cannot be had again.');
}

/** What payrun needs to pay through this sandbox, at the address that its options give it. */
function settingsOf(
  { tenantId, clientId, clientSecret }: { tenantId: string; clientId: string; clientSecret: string },
  { folder: path, environment: of, host, ...ports }: z.output<typeof credentialOptions>,
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

async function revokeCredential(clientId: string, options: z.output<typeof revokeOptions>): Promise<void> {
  await openTenant(options.folder, system.random);
  for (const one of ENVIRONMENTS) {
    const revoked = await withCredentials(options.folder, one, (credentials) => credentials.revoke(clientId));
    if (!revoked) continue;
    console.log(`revoked in ${one}`);
    return;
  }
  throw new Refusal('The folder has no credential with this client id', {
    exitCode: EXIT.usage,
    remedy: `Compare the client id, and name the sandbox's folder with --folder (now ${options.folder}).`,
  });
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

async function addIdentities(ids: readonly string[], options: z.output<typeof identityOptions>): Promise<void> {
  await openTenant(options.folder, system.random);
  const identities = await openIdentities(journalFile(options.folder, options.environment, 'identities'), system.clock);
  try {
    identities.add(ids.map((identityId) => ({ identityId, identityType: options.type })));
    await identities.synced();
  } finally {
    await identities.close();
  }
  console.log(`${ids.length} registered as ${options.type} in ${options.environment}`);
}

function parse<Output>(schema: z.ZodType<Output>, value: unknown): Output {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new Refusal(`Wrong on the command line:\n  ${problems.join('\n  ')}`, {
    exitCode: EXIT.usage,
    remedy: 'See payrun sandbox --help.',
  });
}
