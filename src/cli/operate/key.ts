import { z } from 'zod';
import { KEY_ROLES } from '../../access/roles.ts';
import type { App } from '../../app.ts';
import { durationFrom } from '../../duration.ts';
import { createKey, keyDocument, listKeys, revokeKey } from '../../people/keys.ts';
import { Refusal } from '../../refusal.ts';
import { columns } from '../columns.ts';
import { command } from '../command.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { actorOf } from '../open.ts';
import { personName, SANDBOX } from '../options.ts';
import { print, printJson, safeText, say } from '../print.ts';
import { signInitCommand, signShowCommand } from './sign-key.ts';

const role = z.enum(KEY_ROLES, `must be one of ${KEY_ROLES.join(', ')}: a program decides nothing that needs people`);
const CHANGES = { purpose: 'change' } as const;

const createOne = ledgerCommand(
  'create',
  {
    ...CHANGES,
    about: 'make a key; it is shown once',
    takes: { '<name>': 'the program, as "key NAME" in histories' },
    options: {
      role: ['<role>', `${KEY_ROLES.join(' (looks) or ')} (looks, hands in, stops)`, role],
      as: ['<name>', 'who makes it', personName],
      sandbox: SANDBOX,
      for: [
        '<duration>',
        'how long it is valid, from 1d to 3650d (default: until it is revoked)',
        durationFrom('1d', '3650d').optional(),
      ],
      json: 'print the key as JSON',
    },
    help: 'Once there is another admin, one proposes it and another confirms it by the same command.',
    examples: ['payrun key create accounting --role maker --for 365d --as anna'],
  },
  async (app, { as: actor, for: lifeMs, name, role: given, json }) => {
    await create(app, { name, actor, role: given, json, ...(lifeMs === undefined ? {} : { lifeMs }) });
  },
);

const listAll = ledgerCommand(
  'list',
  {
    about: 'list the keys: what they may do, since when, and when they were last used',
    options: { json: 'print an array as JSON' },
    examples: ['payrun key list --json'],
  },
  async (app, { json }) => {
    const keys = (await listKeys(app)).map(keyDocument);
    const cells = keys.map((key) => [
      key.name,
      key.role,
      key.createdBy,
      key.createdAt,
      key.expiresAt ?? '-',
      key.lastUsedAt ?? '-',
    ]);
    if (json) printJson(keys);
    else if (keys.length === 0) say('There are no keys yet.');
    else print(columns([['name', 'role', 'made by', 'at', 'ends', 'used last'], ...cells]));
  },
);

const revokeOne = ledgerCommand(
  'revoke',
  {
    ...CHANGES,
    about: 'end a key at once, or withdraw a proposal to make one; one person is enough',
    takes: { '<name>': 'the key' },
    options: {
      as: ['<name>', 'who does it', personName.optional()],
      yes: 'do it: without this the command only says what would end',
    },
    examples: ['payrun key revoke accounting --as anna --yes'],
  },
  async (app, { name, as, yes }) => {
    if (!yes) {
      throw new Refusal(
        `The key ${safeText(name)} was not revoked yet: whatever uses it is refused from then on.`,
        'If that is meant, give the same command with --yes.',
      );
    }
    await revokeKey(app, { name, actor: actorOf(as) });
    print(safeText(`key ${name} is revoked`));
  },
);

/** `payrun key`: keys by which programs use the web app's interface, and the one that signs reports. */
export const keyCommand = command('key', {
  examples: [
    'payrun key create accounting --role maker --as anna',
    'payrun key list',
    'payrun key sign-init > payrun.pub',
  ],
  parts: [createOne, listAll, revokeOne, signInitCommand, signShowCommand],
});

type Asked = Parameters<typeof createKey>[1] & { readonly json: boolean };

async function create(app: App, { json, ...asked }: Asked): Promise<void> {
  const result = await createKey(app, asked);
  if (result.kind === 'proposed') {
    if (json) printJson({ kind: 'proposed', bearer: result.bearer });
    else print(result.bearer);
    say('The key is shown this once, to you alone; it holds once it is confirmed.');
    say('Still needed: another admin, with the same command and their own name.');
    return;
  }
  if (json) printJson({ kind: 'done', key: keyDocument(result.key), bearer: result.bearer });
  else print(result.bearer ?? `key ${result.key.name}`);
  if (result.bearer === null) say('Whoever proposed it has the key.');
  else say('The key is shown this once. A program sends it as "Authorization: Bearer KEY".');
}
