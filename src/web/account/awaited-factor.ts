import { z } from 'zod';
import { proveFactor } from '../../people/second-factor.ts';
import { awaitedName, renewSession } from '../../people/sessions.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import { ownPath } from '../people/own-path.ts';
import { Problem } from '../problem.ts';
import { AWAITED_FACTOR, keepDevice, keepSession, sessionIdOf } from '../session.ts';
import type { Web, WebDeps } from '../web.ts';
import { AwaitedFactorPage } from './factor-page.tsx';
import { originOf, waitForCode, wrongCode } from './step-up.ts';

const next = z.string().max(4000).catch('/').default('/').transform(ownPath);
const asked = { querystring: z.strictObject({ next }) };
const fields = { body: z.record(z.string().max(64), z.string().max(4000)) };
const form = z.strictObject({
  typed: z.string().min(1, 'must not be empty').max(4000, 'must have at most 4000 characters'),
  next,
});
const config = { act: 'public' } as const;

/** The second step of a sign-in: whoever has a second factor is in once a code of it is right. */
export function addAwaitedFactor(web: Web, deps: WebDeps): void {
  const { app } = deps;

  web.get(AWAITED_FACTOR, { config, schema: asked }, async (request, reply) => {
    if ((await awaitedName(app, sessionIdOf(request))) === undefined) {
      if (request.refused !== null) throw tooLate();
      return await reply.redirect('/sign-in', 303);
    }
    const to = request.refused === null ? request.query.next : next.parse(request.refused.typed['next']);
    return await sendPage(reply, deps, { title: 'Second factor', body: AwaitedFactorPage({ next: to }) });
  });

  const route = { bodyLimit: 16 * 1024, config: { ...config, page: AWAITED_FACTOR }, schema: fields };
  web.post(AWAITED_FACTOR, route, async (request, reply) => {
    const { typed: code, next: to } = readForm(form, request.body);
    const id = sessionIdOf(request);
    const name = await awaitedName(app, id);
    if (name === undefined) throw tooLate();
    const result = await proveFactor(app, { name, code, ip: request.ip, origin: originOf(request) });
    if (result.kind === 'wait') throw waitForCode(reply, result, 'typed');
    if (result.kind === 'refused') throw wrongCode('typed');
    const renewed = await renewSession(app, id);
    if (renewed === undefined) throw tooLate();
    const details = { ip: request.ip, secondFactor: result.by };
    await app.ledger.audit.append({ actor: name, action: 'user.signed-in', target: `user ${name}`, details });
    keepSession(reply, renewed);
    await keepDevice({ request, reply }, app, name);
    return await reply.redirect(to, 303);
  });
}

function tooLate(): Problem {
  return new Problem(401, 'Your sign-in took too long.', 'Begin it anew.');
}
