import { z } from 'zod';
import { KEY_ROLES, ROLES } from '../../../access/roles.ts';
import { isSamePerson } from '../../../access/same-person.ts';
import { personName } from '../../../access/words.ts';
import { rfc3339 } from '../../../clock.ts';
import { durationFrom } from '../../../duration.ts';
import { createKey, keyDocument, listKeys, revokeKey } from '../../../people/keys.ts';
import { removeFactor } from '../../../people/second-factor.ts';
import {
  addUser,
  changeRole,
  disableUser,
  enableUser,
  listUsers,
  resetUser,
  userDocument,
} from '../../../people/users.ts';
import { actorOf } from '../../actor.ts';
import { Problem } from '../../problem.ts';
import type { Person, Web, WebDeps } from '../../web.ts';
import { time } from '../documents.ts';

const text = z.string();
const user = z.object({
  name: text,
  role: z.enum(ROLES),
  isDisabled: z.boolean(),
  secretUntil: time.nullable().describe('Until when the one-time secret holds; null for whoever has a password'),
  addedBy: text,
  addedAt: time,
  hasFactor: z.boolean().describe('Whether they have a second factor'),
});
const users = z.object({
  users: z.array(user),
  proposals: z.array(z.object({ target: text, what: text, by: text, at: time })),
});
const key = z.object({
  id: text,
  name: text,
  role: z.enum(KEY_ROLES),
  createdBy: text,
  createdAt: time,
  expiresAt: time.nullable(),
  lastUsedAt: time.nullable(),
});
/** `proposed`: another admin has to do the same. A secret is shown this once, to whoever is the first to ask for it. */
const changed = z.object({ kind: z.enum(['proposed', 'done']), user: user.nullable(), secret: text.nullable() });
const made = z.object({ kind: z.enum(['proposed', 'done']), key: key.nullable(), bearer: text.nullable() });

const named = z.strictObject({ name: personName });
const nothing = { 204: z.null().describe('Done') };

/** Who may sign in, and which programs may come. No key may do any of it. */
export function addPeopleOperations(api: Web, deps: WebDeps): void {
  addUserOperations(api, deps);
  addKeyOperations(api, deps);
}

function addUserOperations(api: Web, { app, passwords }: WebDeps): void {
  const config = { act: 'users' } as const;
  const people = { ...app, passwords };

  const list = { summary: 'The users, and what waits for a second admin', response: { 200: users } };
  api.get('/users', { config, schema: list }, async () => {
    const { users: all, proposals } = await listUsers(app);
    return { users: all.map(userDocument), proposals: proposals.map((one) => ({ ...one, at: rfc3339(one.at) })) };
  });

  const body = z.strictObject({ name: personName, role: z.enum(ROLES) });
  const add = { summary: 'Add a user; two admins', body, response: { 200: changed } };
  api.post('/users', { config, schema: add }, async ({ body: asked, who, ip }) => {
    return changeShown(await addUser(people, { ...asked, ...byOf(who, ip) }));
  });

  const shared = { params: named, response: { 200: changed } };
  const role = { summary: 'Give a user another role; two admins', body: body.pick({ role: true }), ...shared };
  api.post('/users/:name/role', { config, schema: role }, async ({ params, body: asked, who, ip }) => {
    const { name } = await requireUser(app, params.name);
    return changeShown(await changeRole(app, { name, ...asked, ...byOf(who, ip) }));
  });

  const enable = { summary: 'Let a disabled user sign in again; two admins', ...shared };
  api.post('/users/:name/enable', { config, schema: enable }, async ({ params, who, ip }) => {
    const { name } = await requireUser(app, params.name);
    return changeShown(await enableUser(app, { name, ...byOf(who, ip) }));
  });

  const reset = { summary: 'Give a user a one-time secret in place of the password; two admins', ...shared };
  api.post('/users/:name/reset', { config, schema: reset }, async ({ params, who, ip }) => {
    const { name } = await requireUser(app, params.name);
    return changeShown(await resetUser(people, { name, ...byOf(who, ip) }));
  });

  const factor = { summary: 'Take a lost second factor away; two admins', ...shared };
  api.delete('/users/:name/second-factor', { config, schema: factor }, async ({ params, who, ip }) => {
    const { name } = await requireUser(app, params.name);
    return changeShown(await removeFactor(app, { name, ...byOf(who, ip) }));
  });

  const disable = {
    summary: 'Keep a user out at once, or withdraw a proposal to add one',
    params: named,
    response: nothing,
  };
  api.post('/users/:name/disable', { config, schema: disable }, async ({ params, who, ip }, reply) => {
    const { name } = await requireUser(app, params.name, 'user');
    await disableUser(app, { name, ...byOf(who, ip) });
    return await reply.status(204).send(null);
  });
}

function addKeyOperations(api: Web, { app }: WebDeps): void {
  const config = { act: 'users' } as const;

  const list = { summary: 'The keys of programs', response: { 200: z.array(key) } };
  api.get('/keys', { config, schema: list }, async () => (await listKeys(app)).map(keyDocument));

  const body = z.strictObject({
    name: personName,
    role: z.enum(KEY_ROLES),
    for: durationFrom('1d', '3650d').optional().describe('How long it holds; without it until it is revoked'),
  });
  const make = { summary: 'Make a key; two admins', body, response: { 200: made } };
  api.post('/keys', { config, schema: make }, async ({ body: { for: lifeMs, ...asked }, who, ip }) => {
    const life = lifeMs === undefined ? {} : { lifeMs };
    const result = await createKey(app, { ...asked, ...life, ...byOf(who, ip) });
    if (result.kind === 'proposed') return { kind: 'proposed', key: null, bearer: result.bearer } as const;
    return { kind: 'done', key: keyDocument(result.key), bearer: result.bearer } as const;
  });

  const confirmed = z.strictObject({
    confirm: z.string().max(200).optional().describe('The name once more: without it nothing ends'),
  });
  const revoke = {
    summary: 'End a key, or withdraw a proposal to make one; in two steps',
    params: named,
    querystring: confirmed,
    response: nothing,
  };
  api.delete('/keys/:name', { config, schema: revoke }, async ({ params: { name }, query, who, ip }, reply) => {
    const isKey = (await listKeys(app)).some((one) => isSamePerson(one.name, name));
    if (!isKey && !(await isProposed(app, `key ${name}`))) throw noSuch('key', name);
    if (query.confirm !== name) {
      throw new Problem(
        409,
        'Whatever uses this key is refused once it has ended.',
        'If that is meant, ask again with its name as "confirm" in the query.',
      );
    }
    await revokeKey(app, { name, ...byOf(who, ip) });
    return await reply.status(204).send(null);
  });
}

function byOf(who: Person | null, ip: string): { actor: string; ip: string } {
  return { actor: actorOf({ who }), ip };
}

/** The name of a user as it is written; with `or`, also of one who is proposed. Throws a Problem (404) for nobody. */
async function requireUser(app: WebDeps['app'], name: string, or?: 'user'): Promise<{ name: string }> {
  const found = (await listUsers(app)).users.find((one) => isSamePerson(one.name, name));
  if (found !== undefined) return found;
  if (or !== undefined && (await isProposed(app, `${or} ${name}`))) return { name };
  throw noSuch('user', name);
}

async function isProposed(app: WebDeps['app'], target: string): Promise<boolean> {
  return (await listUsers(app)).proposals.some((one) => isSamePerson(one.target, target));
}

function noSuch(what: 'user' | 'key', name: string): Problem {
  return new Problem(404, `There is no ${what} ${name}.`, 'The list shows those that there are.');
}

type Change = Awaited<ReturnType<typeof resetUser>> | Awaited<ReturnType<typeof enableUser>>;

function changeShown(change: Change): z.infer<typeof changed> {
  const secret = 'secret' in change ? change.secret : null;
  if (change.kind === 'proposed') return { kind: 'proposed', user: null, secret };
  return { kind: 'done', user: userDocument(change.user), secret };
}
