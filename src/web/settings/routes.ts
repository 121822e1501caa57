import { z } from 'zod';
import { reasonText } from '../../access/words.ts';
import { tableCsv } from '../../report/table-csv.ts';
import { haltAll } from '../../runs/decide/control.ts';
import { actorOf } from '../actor.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm, readNoFields } from '../parts/read-form.ts';
import type { Web, WebDeps } from '../web.ts';
import { adoptSeen, releaseByTwo } from './second-person.ts';
import { readSections, type Section } from './sections.ts';
import { SettingsPage } from './settings-page.tsx';

const PAGE = '/settings';

const shown = {
  querystring: z.strictObject({ adopted: z.enum(['', 'there', 'proposed', 'adopted', 'same-person']).default('') }),
};
const fields = z.record(z.string().max(64), z.string().max(4000));
const haltForm = z.strictObject({ reason: reasonText });
const adoptForm = z.strictObject({ before: z.string() });

/** How payrun is set; the halt switch; and what makes changed safety settings those of the ledger. */
export function addSettingsPages(web: Web, deps: WebDeps): void {
  const { app } = deps;

  web.get(PAGE, { config: { act: 'read' }, schema: shown }, async (request, reply) => {
    const { head, sections } = await readAll(deps);
    const adopted = request.refused === null ? request.query.adopted : '';
    const body = SettingsPage({ head, sections, safety: app.safety, adopted, who: request.who });
    return await sendPage(reply, deps, { title: 'Settings', body });
  });

  web.get(`${PAGE}.csv`, { config: { act: 'read' } }, async (_request, reply) => {
    reply.type('text/csv; charset=utf-8').header('content-disposition', 'attachment; filename="settings.csv"');
    const { head, sections } = await readAll(deps);
    const safety = {
      title: 'Safety settings',
      facts: [['Ledger', head.safety] as const, ['This process', app.safety] as const],
    };
    return tableCsv([['part', 'what', 'value'], ...[...sections, safety].flatMap(sectionRows)]);
  });

  web.post('/halt', { config: { act: 'halt', page: PAGE }, schema: { body: fields } }, async (request, reply) => {
    const { reason } = readForm(haltForm, request.body);
    const fault = await haltAll(app, { actor: actorOf(request), reason });
    if (fault !== undefined) app.log.error('the halt is not on the audit log', { error: fault });
    return await reply.redirect(`${PAGE}#halt`, 303);
  });

  web.post('/release', { config: { act: 'settle', page: PAGE } }, async (request, reply) => {
    readNoFields(request.body);
    await releaseByTwo(app, actorOf(request));
    return await reply.redirect(`${PAGE}#halt`, 303);
  });

  web.post(
    `${PAGE}/adopt`,
    { config: { act: 'settings', page: PAGE }, schema: { body: fields } },
    async (request, reply) => {
      const { before } = readForm(adoptForm, request.body);
      const adopted = await adoptSeen(app, { before, actor: actorOf(request) });
      return await reply.redirect(`${PAGE}?adopted=${adopted}#safety`, 303);
    },
  );
}

async function readAll({ app }: WebDeps) {
  const [head, season] = await Promise.all([app.ledger.state.read(), app.ledger.state.season()]);
  return { head, sections: await readSections(app, { head, season }) };
}

function sectionRows({ title, facts }: Section): string[][] {
  return facts.map(([what, value]) => [title, what, value]);
}
