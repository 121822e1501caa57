import { z } from 'zod';
import { reasonText } from '../../access/words.ts';
import { rfc3339 } from '../../clock.ts';
import { tableCsv } from '../../report/table-csv.ts';
import { blockBeneficiary, readBlocked, unblockBeneficiary } from '../../runs/block.ts';
import { pageOf, pageQuery } from '../lists/listed.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import { Problem } from '../problem.ts';
import type { Person, Web, WebDeps } from '../web.ts';
import { BlockListPage } from './block-list-page.tsx';

const LIST = '/block-list';

const list = { querystring: z.strictObject({ id: z.string().max(64).default(''), page: pageQuery }) };
const fields = z.record(z.string().max(64), z.string().max(1000));
const identity = z
  .string()
  .trim()
  .pipe(z.guid("must be the UUID of a beneficiary, as in the file's column beneficiaryIdentityId"))
  .transform((id) => id.toLowerCase());
const blockForm = z.strictObject({ id: identity, reason: reasonText });
const unblockForm = z.strictObject({ id: identity });

/** Beneficiaries to whom nothing is paid: one person blocks, two let go. */
export function addBlockListPages(web: Web, deps: WebDeps): void {
  const { app } = deps;

  web.get(LIST, { config: { act: 'read' }, schema: list }, async (request, reply) => {
    const { id, page } = request.query;
    const blocked = pageOf(await readBlocked(app), page);
    const names = await app.ledger.names.read(blocked.shown.map(({ identityId }) => identityId));
    const body = BlockListPage({ blocked, names, who: request.who, id });
    return await sendPage(reply, deps, { title: 'Blocked beneficiaries', body });
  });

  web.get(`${LIST}.csv`, { config: { act: 'read' } }, async (_request, reply) => {
    reply.type('text/csv; charset=utf-8').header('content-disposition', 'attachment; filename="block-list.csv"');
    const blocked = await readBlocked(app);
    const names = await app.ledger.names.read(blocked.map(({ identityId }) => identityId));
    return tableCsv([
      ['beneficiaryIdentityId', 'blockedAt', 'blockedBy', 'reason', 'unblockProposedBy', 'beneficiaryName'],
      ...blocked.map(({ identityId, at, by, reason, unblockBy }) => [
        identityId,
        { exact: rfc3339(at) },
        by,
        reason,
        unblockBy ?? null,
        names.get(identityId)?.name ?? null,
      ]),
    ]);
  });

  web.post(LIST, { config: { act: 'block', page: LIST }, schema: { body: fields } }, async (request, reply) => {
    const { id, reason } = readForm(blockForm, request.body);
    await blockBeneficiary(app, id, { actor: nameOf(request.who), reason });
    return await reply.redirect(LIST, 303);
  });

  web.post(
    `${LIST}/unblock`,
    { config: { act: 'block', page: LIST }, schema: { body: fields } },
    async (request, reply) => {
      const { id } = readForm(unblockForm, request.body);
      const result = await unblockBeneficiary(app, id, nameOf(request.who));
      if (result === 'same-person') {
        throw new Problem(409, 'You have proposed to end this block.', 'Another person has to confirm it.');
      }
      if (result === 'not-blocked') {
        throw new Problem(404, 'This beneficiary is not blocked.', 'The list shows who is.');
      }
      return await reply.redirect(LIST, 303);
    },
  );
}

function nameOf(who: Person | null): string {
  if (who === null) throw new Error('a route that blocks let somebody in who has not signed in');
  return who.name;
}
