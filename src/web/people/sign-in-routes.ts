import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { isShortPassword } from '../../people/password.ts';
import { changePassword, signIn, type Wait } from '../../people/sign-in.ts';
import { listUsers } from '../../people/users.ts';
import { actorOf } from '../actor.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import { beginSession, leaveSession } from '../session.ts';
import type { Web, WebDeps } from '../web.ts';
import { ownPath } from './own-path.ts';
import { PasswordChangedPage, PasswordPage } from './password-page.tsx';
import { GoOnPage, SignInPage } from './sign-in-page.tsx';

const next = z.string().max(4000).catch('/runs').default('/runs').transform(ownPath);
const asked = { querystring: z.strictObject({ next, again: z.literal('1').optional() }) };
/** As much of a form as is taken in; what its fields must be is told with a remedy. */
const fields = { body: z.record(z.string().max(64), z.string().max(4000)) };

const secretText = z.string().min(1, 'must not be empty').max(1000, 'must have at most 1000 characters');
const name = z.string().trim().min(1, 'must not be empty').max(200, 'must have at most 200 characters');
const csrf = z.string();
const signInForm = z.strictObject({ csrf, name, password: secretText, next });
const passwordForm = z.strictObject({
  csrf,
  name,
  kind: z.enum(['first', 'change']),
  password: secretText,
  newPassword: secretText,
  repeated: secretText,
});

/** To sign in, to choose a password, and to sign out. */
export function addSignInPages(web: Web, deps: WebDeps): void {
  addSignIn(web, deps);
  addPassword(web, deps);

  web.post('/sign-out', { config: { act: 'public' }, schema: fields }, async (request, reply) => {
    await leaveSession({ request, reply }, deps);
    return await reply.redirect('/sign-in', 303);
  });
}

function addSignIn(web: Web, deps: WebDeps): void {
  const people = { ...deps.app, passwords: deps.passwords };

  web.get('/sign-in', { config: { act: 'public' }, schema: asked }, async (request, reply) => {
    const { next: to, again } = request.query;
    if (request.who !== null) return await reply.redirect(to, 303);
    // After a link on another site, such as in a mail, the browser leaves the cookie out.
    if (request.headers['sec-fetch-site'] === 'cross-site' && again === undefined) {
      return await goOn(reply, deps, `/sign-in?next=${encodeURIComponent(to)}&again=1`);
    }
    return await askAgain(reply, deps, { next: to });
  });

  web.post('/sign-in', { config: { act: 'public' }, schema: fields }, async (request, reply) => {
    const form = readForm(signInForm, request.body);
    const result = await signIn(people, { name: form.name, password: form.password, ip: request.ip });
    switch (result.kind) {
      case 'in':
        await beginSession({ request, reply }, deps, result.user.name);
        return await reply.redirect(form.next, 303);
      case 'change-password':
        return await sendPasswordPage(reply, deps, { name: result.user.name, isFirst: true });
      case 'refused':
        reply.status(401);
        return await askAgain(reply, deps, { ...form, message: NOT_RIGHT });
      case 'wait':
        return await askAgain(reply, deps, { ...form, message: tellWait(reply, result) });
    }
  });
}

const NOT_RIGHT =
  'The name or the password is not right. Try again; an admin can give you a one-time secret in place of a password that is lost.';

function addPassword(web: Web, deps: WebDeps): void {
  const people = { ...deps.app, passwords: deps.passwords };

  web.get('/password', { config: { act: 'read' } }, async (request, reply) => {
    return await sendPasswordPage(reply, deps, { name: actorOf(request), isFirst: false });
  });

  // Public, for whoever has a one-time secret has no session yet; it asks for the secret itself.
  web.post('/password', { config: { act: 'public' }, schema: fields }, async (request, reply) => {
    const { kind, repeated, ...form } = readForm(passwordForm, request.body);
    const again = (message: string) =>
      sendPasswordPage(reply, deps, { name: form.name, isFirst: kind === 'first', message });
    if (form.newPassword !== repeated) {
      reply.status(422);
      return await again('The two new passwords are not the same. Type the new one twice.');
    }
    const { password, newPassword } = form;
    const result = await changePassword(people, { name: form.name, password, newPassword, ip: request.ip });
    switch (result.kind) {
      case 'changed':
        await beginSession({ request, reply }, deps, result.user.name);
        return await reply.redirect(`/password/changed${isShortPassword(newPassword) ? '?short=1' : ''}`, 303);
      case 'problem':
        reply.status(422);
        return await again(result.message);
      case 'refused':
        reply.status(401);
        return await again(
          kind === 'first' ? 'The one-time secret is not right.' : 'The present password is not right.',
        );
      case 'wait':
        return await again(tellWait(reply, result));
    }
  });

  const shown = { querystring: z.strictObject({ short: z.literal('1').optional() }) };
  web.get('/password/changed', { config: { act: 'read' }, schema: shown }, async (request, reply) => {
    const body = PasswordChangedPage({ isShort: request.query.short !== undefined });
    return await sendPage(reply, deps, { title: 'Password changed', body });
  });
}

/** Has a page of ours ask for a path, for the session's cookie goes with nothing that another site asked for (SameSite=Strict). */
export async function goOn(reply: FastifyReply, deps: WebDeps, to: string): Promise<FastifyReply> {
  reply.header('refresh', `0; url=${to}`);
  return await sendPage(reply, deps, { title: 'One moment', body: GoOnPage({ to }) });
}

interface Again {
  readonly next: string;
  readonly name?: string;
  readonly message?: string;
}

async function askAgain(reply: FastifyReply, deps: WebDeps, { next: to, name: typed = '', message }: Again) {
  const { users } = await listUsers(deps.app);
  const body = SignInPage({
    next: to,
    name: typed,
    hasProvider: deps.settings.oidc !== null,
    hasUsers: users.length > 0,
    ...(message === undefined ? {} : { message }),
  });
  return await sendPage(reply, deps, { title: 'Sign in', body });
}

async function sendPasswordPage(reply: FastifyReply, deps: WebDeps, props: Parameters<typeof PasswordPage>[0]) {
  const title = props.isFirst ? 'Choose a password' : 'Change your password';
  return await sendPage(reply, deps, { title, body: PasswordPage(props) });
}

/** Says when to come again, to people and to programs (RFC 9110, section 10.2.3). */
function tellWait(reply: FastifyReply, { ms }: Wait): string {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  reply.status(429).header('retry-after', String(seconds));
  const span =
    seconds < 120 ? `${seconds} ${seconds === 1 ? 'second' : 'seconds'}` : `${Math.ceil(seconds / 60)} minutes`;
  return `There were too many tries. No password was looked at; try again in ${span}.`;
}
