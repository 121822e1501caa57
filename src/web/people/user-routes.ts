import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ROLES } from '../../access/roles.ts';
import { isSamePerson } from '../../access/same-person.ts';
import { personName } from '../../access/words.ts';
import type { AuditLog } from '../../audit/audit-log.ts';
import { readEntry } from '../../audit/entry.ts';
import { rfc3339 } from '../../clock.ts';
import type { Proposed, ProposedSecret } from '../../people/change.ts';
import { requireName } from '../../people/names.ts';
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
import { tableCsv } from '../../report/table-csv.ts';
import { actorOf } from '../actor.ts';
import { sendDownload } from '../download.ts';
import { pageOf, pageQuery, sortedBy, sortQuery } from '../lists/listed.ts';
import { sendPage } from '../parts/frame.tsx';
import { asFieldError, readForm } from '../parts/read-form.ts';
import type { Web, WebDeps } from '../web.ts';
import { SecretPage } from './secret-page.tsx';
import { USER_COLUMNS, UsersPage } from './users-page.tsx';

const USERS_PER_PAGE = 20;
const LIST = '/users';

const onPage = { querystring: z.strictObject({ page: pageQuery, sort: sortQuery(USER_COLUMNS).default('name') }) };
const fields = { body: z.record(z.string().max(64), z.string().max(1000)) };
const named = z.strictObject({ name: personName });
const withRole = named.extend({ role: z.enum(ROLES, `must be one of ${ROLES.join(', ')}`) });

/** Who may sign in: admins see and change it. */
export function addUserPages(web: Web, deps: WebDeps): void {
  addUserList(web, deps);
  const config = { act: 'users', page: LIST } as const;
  const people = { ...deps.app, passwords: deps.passwords };

  web.post(LIST, { config: config, schema: fields }, async (request, reply) => {
    const { name, role } = readForm(withRole, request.body);
    await asFieldError('name', () => requireName(name, 'user'));
    return await answer(reply, deps, { name, result: await addUser(people, { name, role, ...byOf(request) }) });
  });

  web.post(`${LIST}/role`, { config: config, schema: fields }, async (request, reply) => {
    const { name, role } = readForm(withRole, request.body);
    return await answer(reply, deps, { name, result: await changeRole(people, { name, role, ...byOf(request) }) });
  });

  web.post(`${LIST}/enable`, { config, schema: fields }, async (request, reply) => {
    const { name } = readForm(named, request.body);
    return await answer(reply, deps, { name, result: await enableUser(people, { name, ...byOf(request) }) });
  });

  web.post(`${LIST}/reset`, { config, schema: fields }, async (request, reply) => {
    const { name } = readForm(named, request.body);
    return await answer(reply, deps, { name, result: await resetUser(people, { name, ...byOf(request) }) });
  });

  web.post(`${LIST}/factor`, { config, schema: fields }, async (request, reply) => {
    const { name } = readForm(named, request.body);
    return await answer(reply, deps, { name, result: await removeFactor(deps.app, { name, ...byOf(request) }) });
  });

  web.post(`${LIST}/disable`, { config, schema: fields }, async (request, reply) => {
    const { name } = readForm(named, request.body);
    await disableUser(people, { name, ...byOf(request) });
    return await reply.redirect(LIST, 303);
  });
}

function addUserList(web: Web, deps: WebDeps): void {
  const config = { act: 'users' } as const;
  const readLastSignIns = openLastSignIns(deps.app.ledger.audit);

  web.get(LIST, { config, schema: onPage }, async (request, reply) => {
    const { users, proposals } = await listUsers(deps.app);
    const viewer = actorOf(request);
    const lastSignIns = await readLastSignIns();
    const { schedules } = await deps.app.ledger.schedules.read();
    const { page, sort } = request.query;
    const sorted = sortedBy(users, sort, {
      name: ({ name }) => name,
      role: ({ role }) => ROLES.indexOf(role),
      signedIn: ({ name }) => lastSignIns.get(name) ?? null,
      added: ({ addedAt }) => addedAt,
    });
    const body = UsersPage({
      ...pageOf(sorted, page, USERS_PER_PAGE),
      sort,
      proposals: proposals.filter(({ target }) => target.startsWith('user ')),
      viewer,
      lastSignIns,
      schedules,
      lastAdmin: lastAdminOf(users),
      isAlone: users.every(({ role, name }) => role !== 'admin' || isSamePerson(name, viewer)),
    });
    return await sendPage(reply, deps, { title: 'Users', body });
  });

  web.get(`${LIST}.csv`, { config }, async (_request, reply) => {
    return await sendDownload(reply, { name: 'users', ending: 'csv', content: usersCsv(deps) });
  });
}

/** The only admin who may sign in; null for none or several. */
function lastAdminOf(users: readonly User[]): string | null {
  const admins = users.filter(
    ({ role, isDisabled, secretUntil }) => role === 'admin' && !isDisabled && secretUntil === null,
  );
  return admins.length === 1 ? (admins[0]?.name ?? null) : null;
}

async function* usersCsv({ app }: WebDeps): AsyncGenerator<string, void> {
  const { users } = await listUsers(app);
  yield tableCsv([
    ['name', 'role', 'disabled', 'secretUntil', 'addedBy', 'addedAt', 'secondFactor'],
    ...users.map(({ name, role, isDisabled, secretUntil, addedBy, addedAt, hasFactor }) => [
      name,
      role,
      isDisabled ? 'yes' : 'no',
      secretUntil === null ? null : { exact: rfc3339(secretUntil) },
      addedBy,
      { exact: rfc3339(addedAt) },
      hasFactor ? 'yes' : 'no',
    ]),
  ]);
}

type Answered = Proposed | ProposedSecret | Done | WithSecret;

/** A secret goes out on the answer itself, for it is kept nowhere; everything else shows in the list. */
async function answer(
  reply: FastifyReply,
  deps: WebDeps,
  { name, result }: { readonly name: string; readonly result: Answered },
): Promise<FastifyReply> {
  if (!('secret' in result)) return await reply.redirect(LIST, 303);
  const body = SecretPage({ name, secret: result.secret, isProposed: result.kind === 'proposed' });
  return await sendPage(reply, deps, { title: 'One-time secret', body });
}

function byOf(request: FastifyRequest): { readonly actor: string; readonly ip: string } {
  return { actor: actorOf(request), ip: request.ip };
}

const ACTION = 'user.signed-in';

/**
 * Reads when each user signed in last (milliseconds since 1970), from the audit log: all of it once, and from then on what is
 * new of it.
 */
function openLastSignIns(audit: Pick<AuditLog, 'head' | 'lines'>): () => Promise<ReadonlyMap<string, number>> {
  const last = new Map<string, number>();
  let read = 0;
  let reading: Promise<void> | undefined;

  async function readOn(): Promise<void> {
    // A Redis that went back in time has a shorter log.
    if ((await audit.head()).number < read) read = 0;
    for await (const line of audit.lines(read + 1)) {
      read++;
      // Most entries are something else, and are not looked at more closely.
      const entry = line.includes(ACTION) ? readEntry(line) : undefined;
      if (entry?.action === ACTION) last.set(entry.actor, entry.at);
    }
  }

  return async () => {
    reading ??= readOn().finally(() => {
      reading = undefined;
    });
    await reading;
    return last;
  };
}
