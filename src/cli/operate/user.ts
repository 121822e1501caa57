import { z } from 'zod';
import { ROLES } from '../../access/roles.ts';
import type { App } from '../../app.ts';
import { rfc3339 } from '../../clock.ts';
import type { Proposed, ProposedSecret } from '../../people/change.ts';
import { openPasswords } from '../../people/password.ts';
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
  userDocument,
  type WithSecret,
} from '../../people/users.ts';
import { columns } from '../columns.ts';
import { command } from '../command.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { actorOf } from '../open.ts';
import { personName, SANDBOX } from '../options.ts';
import { print, printJson, safeText, say } from '../print.ts';

const role = z.enum(ROLES, `must be one of ${ROLES.join(', ')}`);
const CHANGES = { purpose: 'change' } as const;
const BY_TWO = 'Once there is another admin, one proposes it and another confirms it by the same command.';

/** What two people decide of a user. */
const byTwo = {
  ...CHANGES,
  takes: { '<name>': 'the user' },
  options: { as: ['<name>', 'who does it', personName], json: 'print the user as JSON' },
  help: BY_TWO,
} as const;

const addOne = ledgerCommand(
  'add',
  {
    ...byTwo,
    about: 'add a user; a one-time secret for the first sign-in is shown once, and holds for a day',
    options: { ...byTwo.options, role: ['<role>', ROLES.join(', '), role], sandbox: SANDBOX },
    examples: ['payrun user add bob --role checker --as anna'],
  },
  async (app, { name, as: actor, role: given, json }) =>
    tell(await addUser(depsOf(app), { name, actor, role: given }), json),
);

const listAll = ledgerCommand(
  'list',
  {
    about: 'list the users, and what waits for a second person',
    options: { json: 'print users and proposals as JSON' },
    examples: ['payrun user list --json'],
  },
  (app, { json }) => list(app, json),
);

const giveRole = ledgerCommand(
  'role',
  {
    ...byTwo,
    about: 'give a user another role; their sessions end',
    takes: { '<name>': 'the user', '<role>': [ROLES.join(', '), role] },
    examples: ['payrun user role bob admin --as anna'],
  },
  async (app, { name, role: given, as: actor, json }) =>
    tell(await changeRole(app, { name, role: given, actor }), json),
);

const disableOne = ledgerCommand(
  'disable',
  {
    ...CHANGES,
    about: 'disable a user at once, or withdraw a proposal to add one; one person is enough',
    takes: { '<name>': 'the user' },
    options: { as: ['<name>', 'who does it', personName.optional()] },
    examples: ['payrun user disable bob --as anna'],
  },
  async (app, { name, as }) => {
    await disableUser(app, { name, actor: actorOf(as) });
    print(safeText(`${name} cannot sign in; whatever they had open is closed`));
    const { schedules } = await app.ledger.schedules.read();
    const theirs = schedules.filter(({ setBy }) => setBy === name).map((schedule) => schedule.name);
    if (theirs.length > 0)
      print(safeText(`Their schedules go on: ${theirs.join(', ')}. "payrun schedule remove NAME" ends one.`));
  },
);

const enableOne = ledgerCommand(
  'enable',
  { ...byTwo, about: 'let a disabled user sign in again', examples: ['payrun user enable bob --as anna'] },
  async (app, { name, as: actor, json }) => tell(await enableUser(app, { name, actor }), json),
);

const resetOne = ledgerCommand(
  'reset',
  {
    ...byTwo,
    about: 'give a user a new one-time secret in place of the password; their sessions end',
    examples: ['payrun user reset bob --as anna'],
  },
  async (app, { name, as: actor, json }) => tell(await resetUser(depsOf(app), { name, actor }), json),
);

const removeOnesFactor = ledgerCommand(
  'remove-factor',
  {
    ...byTwo,
    about: 'take a lost second factor away; their sessions end',
    examples: ['payrun user remove-factor bob --as anna'],
  },
  async (app, { name, as: actor, json }) => tell(await removeFactor(app, { name, actor }), json),
);

/** `payrun user`: who may sign in to the web app, and as what. */
export const userCommand = command('user', {
  help: BY_TWO,
  examples: ['payrun user add anna --role admin --as anna', 'payrun user list'],
  parts: [addOne, listAll, giveRole, disableOne, enableOne, resetOne, removeOnesFactor],
});

function depsOf(app: App) {
  return { ...app, passwords: openPasswords(app.random) };
}

function tell(result: Proposed | ProposedSecret | Done | WithSecret, json: boolean): undefined {
  const secret = 'secret' in result ? { secret: result.secret } : {};
  if (result.kind === 'proposed') {
    if (json) printJson({ kind: 'proposed', ...secret });
    else if ('secret' in result) print(columns([['one-time secret', result.secret]]));
    if ('secret' in result)
      say('The secret is shown this once, to you alone; it is good for a day once it is confirmed.');
    say('Still needed: another admin, with the same command and their own name.');
    return;
  }
  if (json) printJson({ kind: 'done', user: userDocument(result.user), ...secret });
  else {
    print(columns([...cells(result.user), ...('secret' in result ? [['one-time secret', result.secret]] : [])]));
  }
  if ('secret' in result) say('The secret is shown this once. Whoever signs in with it chooses a password then.');
}

async function list(app: App, json: boolean): Promise<undefined> {
  const { users, proposals } = await listUsers(app);
  if (json) {
    const waiting = proposals.map(({ at, ...one }) => ({ ...one, at: rfc3339(at) }));
    printJson({ users: users.map(userDocument), proposals: waiting });
  } else if (users.length === 0) say('There are no users yet: payrun user add NAME --role admin --as NAME');
  else
    print(
      columns(
        users.map((user) => [user.name, user.role, stateOf(user), `added ${rfc3339(user.addedAt)} by ${user.addedBy}`]),
      ),
    );
  if (!json) for (const { target, what, by } of proposals) say(safeText(`${by} proposes for ${target}: ${what}`));
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
