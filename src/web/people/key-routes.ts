import { z } from 'zod';
import { KEY_ROLES } from '../../access/roles.ts';
import { personName } from '../../access/words.ts';
import { rfc3339 } from '../../clock.ts';
import { createKey, listKeys, revokeKey } from '../../people/keys.ts';
import { requireName } from '../../people/names.ts';
import { listUsers } from '../../people/users.ts';
import { tableCsv } from '../../report/table-csv.ts';
import { actorOf } from '../actor.ts';
import { sendDownload } from '../download.ts';
import { pageOf, pageQuery, sortedBy, sortQuery } from '../lists/listed.ts';
import { sendPage } from '../parts/frame.tsx';
import { asFieldError, readForm } from '../parts/read-form.ts';
import type { Web, WebDeps } from '../web.ts';
import { KEY_COLUMNS, KeysPage } from './keys-page.tsx';
import { BearerPage } from './secret-page.tsx';

const LIST = '/keys';
const DAYS_MAX = 3650;
const DAY_MS = 24 * 60 * 60_000;

const onPage = { querystring: z.strictObject({ page: pageQuery, sort: sortQuery(KEY_COLUMNS).default('name') }) };
const fields = { body: z.record(z.string().max(64), z.string().max(1000)) };
const named = z.strictObject({ name: personName });
const days = z
  .string()
  .trim()
  .regex(/^(?:[1-9][0-9]{0,3})?$/, `must be a number of days, from 1 to ${DAYS_MAX}, or empty`)
  .transform((text) => (text === '' ? undefined : Number.parseInt(text, 10)))
  .refine((count) => count === undefined || count <= DAYS_MAX, `must be at most ${DAYS_MAX}`);
const makeForm = named.extend({
  role: z.enum(KEY_ROLES, `must be one of ${KEY_ROLES.join(', ')}`),
  days: days.optional(),
});

/** Keys of programs: admins see and change them. */
export function addKeyPages(web: Web, deps: WebDeps): void {
  const { app } = deps;
  const config = { act: 'users' } as const;

  web.get(LIST, { config, schema: onPage }, async (request, reply) => {
    const { proposals } = await listUsers(app);
    const { page, sort } = request.query;
    const sorted = sortedBy(await listKeys(app), sort, {
      name: ({ name }) => name,
      made: ({ createdAt }) => createdAt,
      ends: ({ expiresAt }) => expiresAt,
      used: ({ lastUsedAt }) => lastUsedAt,
    });
    const body = KeysPage({
      ...pageOf(sorted, page),
      sort,
      proposals: proposals.filter(({ target }) => target.startsWith('key ')),
      viewer: actorOf(request),
    });
    return await sendPage(reply, deps, { title: 'Keys', body });
  });

  web.get(`${LIST}.csv`, { config }, async (_request, reply) => {
    return await sendDownload(reply, { name: 'keys', ending: 'csv', content: keysCsv(deps) });
  });

  web.post(LIST, { config: { ...config, page: LIST }, schema: fields }, async (request, reply) => {
    const { name, role, days: count } = readForm(makeForm, request.body);
    await asFieldError('name', () => requireName(name, 'key'));
    const life = count === undefined ? {} : { lifeMs: count * DAY_MS };
    const result = await createKey(app, { name, role, ...life, actor: actorOf(request), ip: request.ip });
    if (result.bearer === null) return await reply.redirect(LIST, 303);
    const body = BearerPage({ name, bearer: result.bearer, isProposed: result.kind === 'proposed' });
    return await sendPage(reply, deps, { title: 'New key', body });
  });

  web.post(`${LIST}/revoke`, { config: { ...config, page: LIST }, schema: fields }, async (request, reply) => {
    const { name } = readForm(named, request.body);
    await revokeKey(app, { name, actor: actorOf(request), ip: request.ip });
    return await reply.redirect(LIST, 303);
  });
}

async function* keysCsv({ app }: WebDeps): AsyncGenerator<string, void> {
  yield tableCsv([
    ['id', 'name', 'role', 'createdBy', 'createdAt', 'expiresAt', 'lastUsedAt'],
    ...(await listKeys(app)).map((key) => [
      { exact: key.id },
      key.name,
      key.role,
      key.createdBy,
      { exact: rfc3339(key.createdAt) },
      timeCell(key.expiresAt),
      timeCell(key.lastUsedAt),
    ]),
  ]);
}

function timeCell(at: number | null): { readonly exact: string } | null {
  return at === null ? null : { exact: rfc3339(at) };
}
