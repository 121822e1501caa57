import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import { rfc3339 } from '../../clock.ts';
import type { Proposed, ProposedSecret } from '../../people/change.ts';
import { openPasswords } from '../../people/password.ts';
import { ROLES } from '../../people/roles.ts';
import { removeFactor } from '../../people/second-factor.ts';
import {
  addUser,
  changeRole,
  type Done,
  disableUser,
  enableUser,
  listUsers,
  resetUser,
  type User,
  type WithSecret,
} from '../../people/users.ts';
import { EXIT, type ExitCode } from '../../refusal.ts';
import { columns } from '../columns.ts';
import { type AppCommand, actorOf, withLedger } from '../open.ts';
import { parseOptions, personName, sandboxOption } from '../options.ts';
import { print, printJson, safeText, say } from '../print.ts';

const role = z.enum(ROLES, `must be one of ${ROLES.join(', ')}`);
const listSchema = z.object({ json: z.boolean() });
const bySchema = z.object({ as: personName, json: z.boolean() });
const roleSchema = bySchema.extend({ role });
const addSchema = roleSchema.extend({ sandbox: z.boolean() });
const disableSchema = z.object({ as: personName.optional() });

const CHANGES = { purpose: 'change', tellsPlace: true } as const;

const BY_TWO = '\nOnce there is another admin, one proposes it and another confirms it by the same command.';

/** `payrun user`: who may sign in to the web app, and as what. */
export function userCommand(end: (code: ExitCode) => void): Command {
  return new Command('user')
    .addHelpText('after', `${BY_TWO}\n\nExamples:\n  payrun user add anna --role admin --as anna\n  payrun user list`)
    .addCommand(addOne(end))
    .addCommand(listAll(end))
    .addCommand(giveRole(end))
    .addCommand(disableOne(end))
    .addCommand(enableOne(end))
    .addCommand(resetOne(end))
    .addCommand(removeOnesFactor(end));
}

function addOne(end: (code: ExitCode) => void): Command {
  return byTwoCommand('add', 'add a user; a one-time secret for the first sign-in is shown once, and holds for a day')
    .requiredOption('--role <role>', ROLES.join(', '))
    .addOption(sandboxOption())
    .addHelpText('after', `${BY_TWO}\n\nExample:\n  payrun user add bob --role checker --as anna`)
    .action(async (name: string, raw: unknown) => {
      const { as: actor, json, sandbox, ...asked } = parseOptions(addSchema, raw);
      const add: AppCommand = async (app) => tell(await addUser(depsOf(app), { name, actor, ...asked }), json);
      end(await withLedger(add, { ...CHANGES, sandbox }));
    });
}

function listAll(end: (code: ExitCode) => void): Command {
  return new Command('list')
    .description('list the users, and what waits for a second person')
    .option('--json', 'print users and proposals as JSON', false)
    .addHelpText('after', '\nExample:\n  payrun user list --json')
    .action(async (raw: unknown) => {
      const { json } = parseOptions(listSchema, raw);
      end(await withLedger((app) => list(app, json)));
    });
}

function giveRole(end: (code: ExitCode) => void): Command {
  return byTwoCommand('role', 'give a user another role; their sessions end')
    .argument('<role>', ROLES.join(', '))
    .addHelpText('after', `${BY_TWO}\n\nExample:\n  payrun user role bob admin --as anna`)
    .action(async (name: string, roleText: string, raw: unknown) => {
      const { as: actor, json, role: asked } = parseOptions(roleSchema, { ...looseOptions(raw), role: roleText });
      end(await withLedger(async (app) => tell(await changeRole(app, { name, role: asked, actor }), json), CHANGES));
    });
}

function disableOne(end: (code: ExitCode) => void): Command {
  return new Command('disable')
    .description('disable a user at once, or withdraw a proposal to add one; one person is enough')
    .argument('<name>', 'the user')
    .option('--as <name>', 'who does it')
    .addHelpText('after', '\nExample:\n  payrun user disable bob --as anna')
    .action(async (name: string, raw: unknown) => {
      const { as } = parseOptions(disableSchema, raw);
      end(
        await withLedger(async (app) => {
          await disableUser(app, { name, actor: actorOf(as) });
          print(safeText(`${name} cannot sign in; whatever they had open is closed`));
          return EXIT.ok;
        }, CHANGES),
      );
    });
}

function enableOne(end: (code: ExitCode) => void): Command {
  return byTwoCommand('enable', 'let a disabled user sign in again')
    .addHelpText('after', `${BY_TWO}\n\nExample:\n  payrun user enable bob --as anna`)
    .action(async (name: string, raw: unknown) => {
      const { as: actor, json } = parseOptions(bySchema, raw);
      end(await withLedger(async (app) => tell(await enableUser(app, { name, actor }), json), CHANGES));
    });
}

function resetOne(end: (code: ExitCode) => void): Command {
  return byTwoCommand('reset', 'give a user a new one-time secret in place of the password; their sessions end')
    .addHelpText('after', `${BY_TWO}\n\nExample:\n  payrun user reset bob --as anna`)
    .action(async (name: string, raw: unknown) => {
      const { as: actor, json } = parseOptions(bySchema, raw);
      end(await withLedger(async (app) => tell(await resetUser(depsOf(app), { name, actor }), json), CHANGES));
    });
}

function removeOnesFactor(end: (code: ExitCode) => void): Command {
  return byTwoCommand('remove-factor', 'take a lost second factor away; their sessions end')
    .addHelpText('after', `${BY_TWO}\n\nExample:\n  payrun user remove-factor bob --as anna`)
    .action(async (name: string, raw: unknown) => {
      const { as: actor, json } = parseOptions(bySchema, raw);
      end(await withLedger(async (app) => tell(await removeFactor(app, { name, actor }), json), CHANGES));
    });
}

function byTwoCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .argument('<name>', 'the user')
    .requiredOption('--as <name>', 'who does it')
    .option('--json', 'print the user as JSON', false);
}

function depsOf(app: App) {
  return { ...app, passwords: openPasswords(app.random) };
}

function looseOptions(raw: unknown): object {
  return parseOptions(z.looseObject({}), raw);
}

function tell(result: Proposed | ProposedSecret | Done | WithSecret, json: boolean): ExitCode {
  const secret = 'secret' in result ? { secret: result.secret } : {};
  if (result.kind === 'proposed') {
    if (json) printJson({ kind: 'proposed', ...secret });
    else if ('secret' in result) print(columns([['one-time secret', result.secret]]));
    if ('secret' in result)
      say('The secret is shown this once, to you alone; it is good for a day once it is confirmed.');
    say('Still needed: another admin, with the same command and their own name.');
    return EXIT.ok;
  }
  if (json) printJson({ kind: 'done', user: document(result.user), ...secret });
  else {
    print(columns([...cells(result.user), ...('secret' in result ? [['one-time secret', result.secret]] : [])]));
  }
  if ('secret' in result) say('The secret is shown this once. Whoever signs in with it chooses a password then.');
  return EXIT.ok;
}

async function list(app: App, json: boolean): Promise<ExitCode> {
  const { users, proposals } = await listUsers(app);
  if (json) {
    const waiting = proposals.map(({ at, ...one }) => ({ ...one, at: rfc3339(at) }));
    printJson({ users: users.map(document), proposals: waiting });
  } else if (users.length === 0) say('There are no users yet: payrun user add NAME --role admin --as NAME');
  else
    print(
      columns(
        users.map((user) => [user.name, user.role, stateOf(user), `added ${rfc3339(user.addedAt)} by ${user.addedBy}`]),
      ),
    );
  if (!json) for (const { target, what, by } of proposals) say(safeText(`${by} proposes for ${target}: ${what}`));
  return EXIT.ok;
}

function cells(user: User): string[][] {
  return [
    ['user', user.name],
    ['role', user.role],
    ['state', stateOf(user)],
  ];
}

function stateOf({ isDisabled, secretUntil }: User): string {
  if (isDisabled) return 'disabled';
  return secretUntil === null ? 'has a password' : `has a one-time secret until ${rfc3339(secretUntil)}`;
}

function document({ secretUntil, addedAt, ...user }: User) {
  return { ...user, secretUntil: secretUntil === null ? null : rfc3339(secretUntil), addedAt: rfc3339(addedAt) };
}
