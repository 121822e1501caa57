import { z } from 'zod';
import { endOtherSessions, endOwnSession, ownSessions } from '../../people/sessions.ts';
import { actorOf } from '../actor.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm, readNoFields } from '../parts/read-form.ts';
import { Problem } from '../problem.ts';
import { keepSession, sessionIdOf } from '../session.ts';
import type { Web, WebDeps } from '../web.ts';
import { SessionsPage } from './sessions-page.tsx';

const LIST = '/sessions';
const config = { act: 'read', page: LIST } as const;
const fields = { body: z.record(z.string().max(64), z.string().max(1000)) };
const form = z.strictObject({ session: z.string() });

/** Where somebody is signed in, and how they end it. A program's key has no sessions. */
export function addSessionPages(web: Web, deps: WebDeps): void {
  const { app } = deps;

  web.get(LIST, { config: { act: 'read' } }, async (request, reply) => {
    const sessions = await ownSessions(app, sessionIdOf(request));
    return await sendPage(reply, deps, { title: 'Your sessions', body: SessionsPage({ sessions }) });
  });

  web.post(`${LIST}/end`, { config, schema: fields }, async (request, reply) => {
    const { session: label } = readForm(form, request.body);
    const by = { id: sessionIdOf(request), actor: actorOf(request), ip: request.ip };
    if (!(await endOwnSession(app, { ...by, label })))
      throw new Problem(409, 'This session is over already.', 'Look at the list again.');
    return await reply.redirect(LIST, 303);
  });

  web.post(`${LIST}/end-others`, { config, schema: fields }, async (request, reply) => {
    readNoFields(request.body);
    const by = { actor: actorOf(request), ip: request.ip };
    const id = await endOtherSessions(app, { id: sessionIdOf(request), ...by });
    if (id !== undefined) keepSession(reply, id);
    return await reply.redirect(LIST, 303);
  });
}
