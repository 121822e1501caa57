import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import { rfc3339 } from '../../clock.ts';
import { durationFrom } from '../../duration.ts';
import { createKey, type Key, listKeys, revokeKey } from '../../people/keys.ts';
import { KEY_ROLES } from '../../people/roles.ts';
import { EXIT, type ExitCode } from '../../refusal.ts';
import { columns } from '../columns.ts';
import { actorOf, withLedger } from '../open.ts';
import { parseOptions, personName, sandboxOption } from '../options.ts';
import { print, printJson, safeText, say } from '../print.ts';
import { signInitCommand, signShowCommand } from './sign-key.ts';

const role = z.enum(KEY_ROLES, `must be one of ${KEY_ROLES.join(', ')}: a program decides nothing that needs people`);
const createSchema = z.object({
  sandbox: z.boolean(),
  as: personName,
  role,
  for: durationFrom('1d', '3650d').optional(),
  json: z.boolean(),
});
const listSchema = z.object({ json: z.boolean() });
const revokeSchema = z.object({ as: personName.optional() });

const CHANGES = { purpose: 'change', tellsPlace: true } as const;

/** `payrun key`: keys by which programs use the web app's interface, and the one that signs reports. */
export function keyCommand(end: (code: ExitCode) => void): Command {
  return new Command('key')
    .addHelpText(
      'after',
      '\nExamples:\n  payrun key create accounting --role maker --as anna\n  payrun key list\n  payrun key sign-init > payrun.pub',
    )
    .addCommand(createOne(end))
    .addCommand(listAll(end))
    .addCommand(revokeOne(end))
    .addCommand(signInitCommand(end))
    .addCommand(signShowCommand(end));
}

function createOne(end: (code: ExitCode) => void): Command {
  return new Command('create')
    .description('make a key; it is shown once')
    .argument('<name>', 'the program, as "key NAME" in histories')
    .requiredOption('--role <role>', `${KEY_ROLES.join(' (looks) or ')} (looks, hands in, stops)`)
    .requiredOption('--as <name>', 'who makes it')
    .addOption(sandboxOption())
    .option('--for <duration>', 'how long it is valid, from 1d to 3650d (default: until it is revoked)')
    .option('--json', 'print the key as JSON', false)
    .addHelpText(
      'after',
      '\nOnce there is another admin, one proposes it and another confirms it by the same command.' +
        '\n\nExample:\n  payrun key create accounting --role maker --for 365d --as anna',
    )
    .action(async (name: string, raw: unknown) => {
      const { as: actor, for: lifeMs, sandbox, ...asked } = parseOptions(createSchema, raw);
      const life = lifeMs === undefined ? {} : { lifeMs };
      end(await withLedger((app) => create(app, { name, actor, ...asked, ...life }), { ...CHANGES, sandbox }));
    });
}

function listAll(end: (code: ExitCode) => void): Command {
  return new Command('list')
    .description('list the keys: what they may do, since when, and when they were last used')
    .option('--json', 'print an array as JSON', false)
    .addHelpText('after', '\nExample:\n  payrun key list --json')
    .action(async (raw: unknown) => {
      const { json } = parseOptions(listSchema, raw);
      end(await withLedger((app) => list(app, json)));
    });
}

function revokeOne(end: (code: ExitCode) => void): Command {
  return new Command('revoke')
    .description('end a key at once, or withdraw a proposal to make one; one person is enough')
    .argument('<name>', 'the key')
    .option('--as <name>', 'who does it')
    .addHelpText('after', '\nExample:\n  payrun key revoke accounting --as anna')
    .action(async (name: string, raw: unknown) => {
      const { as } = parseOptions(revokeSchema, raw);
      end(
        await withLedger(async (app) => {
          await revokeKey(app, { name, actor: actorOf(as) });
          print(safeText(`key ${name} is revoked`));
          return EXIT.ok;
        }, CHANGES),
      );
    });
}

type Asked = Parameters<typeof createKey>[1] & { readonly json: boolean };

async function create(app: App, { json, ...asked }: Asked): Promise<ExitCode> {
  const result = await createKey(app, asked);
  if (result.kind === 'proposed') {
    if (json) printJson({ kind: 'proposed', bearer: result.bearer });
    else print(result.bearer);
    say('The key is shown this once, to you alone; it holds once it is confirmed.');
    say('Still needed: another admin, with the same command and their own name.');
    return EXIT.ok;
  }
  if (json) printJson({ kind: 'done', key: document(result.key), bearer: result.bearer });
  else print(result.bearer ?? `key ${result.key.name}`);
  if (result.bearer === null) say('Whoever proposed it has the key.');
  else say('The key is shown this once. A program sends it as "Authorization: Bearer KEY".');
  return EXIT.ok;
}

async function list(app: App, json: boolean): Promise<ExitCode> {
  const keys = await listKeys(app);
  if (json) printJson(keys.map(document));
  else if (keys.length === 0) say('There are no keys yet.');
  else {
    const rows = keys
      .map(document)
      .map((key) => [key.name, key.role, key.createdBy, key.createdAt, key.expiresAt ?? '-', key.lastUsedAt ?? '-']);
    print(columns([['name', 'role', 'made by', 'at', 'ends', 'used last'], ...rows]));
  }
  return EXIT.ok;
}

function document({ createdAt, expiresAt, lastUsedAt, ...key }: Key) {
  return {
    ...key,
    createdAt: rfc3339(createdAt),
    expiresAt: timeOrNull(expiresAt),
    lastUsedAt: timeOrNull(lastUsedAt),
  };
}

function timeOrNull(at: number | null): string | null {
  return at === null ? null : rfc3339(at);
}
