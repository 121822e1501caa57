import { z } from 'zod';
import { withdrawProposal } from '../../people/withdraw.ts';
import { actorOf } from '../actor.ts';
import { readForm } from '../parts/read-form.ts';
import type { Web, WebDeps } from '../web.ts';
import { addKeyPages } from './key-routes.ts';
import { addSignInPages } from './sign-in-routes.ts';
import { addUserPages } from './user-routes.ts';

const fields = { body: z.record(z.string().max(64), z.string().max(1000)) };
const form = z.strictObject({ target: z.string(), what: z.string() });

/** Takes back what an admin proposed for a user or a key. */
function addWithdrawPage(web: Web, { app }: WebDeps): void {
  web.post(
    '/proposals/withdraw',
    { config: { act: 'users', page: '/users' }, schema: fields },
    async (request, reply) => {
      const { target, what } = readForm(form, request.body);
      await withdrawProposal(app, { target, what, actor: actorOf(request), ip: request.ip });
      return await reply.redirect(target.startsWith('key ') ? '/keys' : '/users', 303);
    },
  );
}

/** Who may come in, and how they do. */
export function addPeoplePages(web: Web, deps: WebDeps): void {
  addSignInPages(web, deps);
  addUserPages(web, deps);
  addKeyPages(web, deps);
  addWithdrawPage(web, deps);
}
