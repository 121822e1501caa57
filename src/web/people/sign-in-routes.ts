import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { isSamePerson } from '../../access/same-person.ts';
import { isShortPassword } from '../../people/password.ts';
import { changePassword, signIn, type Wait } from '../../people/sign-in.ts';
import { listUsers } from '../../people/users.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import { Problem } from '../problem.ts';
import { beginSession, deviceOf, leaveSession } from '../session.ts';
import type { Web, WebDeps } from '../web.ts';
import { ownPath } from './own-path.ts';
import { PasswordChangedPage, PasswordPage } from './password-page.tsx';
import { GoOnPage, SignInPage } from './sign-in-page.tsx';

const next = z.string().max(4000).catch('/').default('/').transform(ownPath);
const asked = { querystring: z.strictObject({ next, again: z.literal('1').optional() }) };
/** As much of a form as is taken in; what its fields must be is told with a remedy. */
const fields = { body: z.record(z.string().max(64), z.string().max(4000)) };

/** Whoever sends it need not have signed in. */
const SHORT = { bodyLimit: 16 * 1024 } as const;

const secretText = z.string().min(1, 'must not be empty').max(1000, 'must have at most 1000 characters');
const name = z.string().trim().min(1, 'must not be empty').max(200, 'must have at most 200 characters');
const signInForm = z.strictObject({ name, password: secretText, next });
const passwordForm = z.strictObject({
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

  web.post('/sign-out', { ...SHORT, config: { act: 'public' }, schema: fields }, async (request, reply) => {
    await leaveSession({ request, reply }, deps);
    return await reply.redirect('/sign-in', 303);
  });
}

function addSignIn(web: Web, deps: WebDeps): void {
  const people = { ...deps.app, passwords: deps.passwords };
  const config = { act: 'public' } as const;

  web.get('/sign-in', { config, schema: asked }, async (request, reply) => {
    const { refused } = request;
    const { next: to, again } = request.query;
    if (request.who !== null && refused === null) return await reply.redirect(to, 303);
    // After a link on another site, such as in a mail, the browser leaves the cookie out.
    if (request.headers['sec-fetch-site'] === 'cross-site' && again === undefined) {
      return await goOn(reply, deps, `/sign-in?next=${encodeURIComponent(to)}&again=1`);
    }
    const { users } = await listUsers(deps.app);
    const body = SignInPage({
      next: refused === null ? to : next.parse(refused.typed['next']),
      hasProvider: deps.settings.oidc !== null,
      hasUsers: users.length > 0,
    });
    return await sendPage(reply, deps, { title: 'Sign in', body });
  });

  web.post(
    '/sign-in',
    { ...SHORT, config: { ...config, page: '/sign-in' }, schema: fields },
    async (request, reply) => {
      const form = readForm(signInForm, request.body);
      const result = await signIn(people, {
        name: form.name,
        password: form.password,
        ip: request.ip,
        device: deviceOf(request),
      });
      switch (result.kind) {
        case 'in':
        case 'factor': {
          const { name: signedIn } = result.user;
          return await reply.redirect(
            await beginSession({ request, reply }, deps, { name: signedIn, next: form.next }),
            303,
          );
        }
        case 'change-password':
          return await sendPasswordPage(reply, deps, { name: result.user.name, isFirst: true });
        case 'refused':
          throw new Problem(
            401,
            'The name or the password is not right.',
            'Try again; an admin can give you a one-time secret in place of a password that is lost.',
          );
        case 'wait':
          throw refuseForNow(reply, result);
      }
    },
  );
}

function addPassword(web: Web, deps: WebDeps): void {
  const people = { ...deps.app, passwords: deps.passwords };

  web.get('/password', { config: { act: 'read' } }, async (request, reply) => {
    const { kind, name: typed = '' } = request.refused?.typed ?? {};
    // Whose form is refused may have no session, or none any more.
    const isFirst = kind === 'first';
    const whose = isFirst ? typed : (request.who?.name ?? typed);
    return await sendPasswordPage(reply, deps, { name: whose, isFirst });
  });

  // Public, for whoever has a one-time secret has no session yet; it asks for the secret itself.
  const config = { act: 'public', page: '/password' } as const;
  web.post('/password', { ...SHORT, config, schema: fields }, async (request, reply) => {
    const { kind, repeated, ...form } = readForm(passwordForm, request.body);
    if (form.newPassword !== repeated) {
      const words = 'The two new passwords are not the same.';
      throw new Problem(422, words, 'Type the new one twice.', { repeated: words });
    }
    const { password, newPassword } = form;
    const isSignedIn = request.who !== null && isSamePerson(request.who.name, form.name);
    const result = await changePassword(people, {
      name: form.name,
      password,
      newPassword,
      ip: request.ip,
      isSignedIn,
      device: deviceOf(request),
    });
    switch (result.kind) {
      case 'changed': {
        const changed = `/password/changed${isShortPassword(newPassword) ? '?short=1' : ''}`;
        const whose = { name: result.user.name, next: changed };
        return await reply.redirect(await beginSession({ request, reply }, deps, whose), 303);
      }
      case 'problem':
        throw new Problem(422, 'The new password cannot be taken.', 'Choose another one, and type it twice.', {
          newPassword: result.message,
        });
      case 'refused': {
        const words = `The ${kind === 'first' ? 'one-time secret' : 'present password'} is not right.`;
        throw new Problem(401, words, 'Type it again.', { password: words });
      }
      case 'wait':
        throw refuseForNow(reply, result);
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

async function sendPasswordPage(reply: FastifyReply, deps: WebDeps, props: Parameters<typeof PasswordPage>[0]) {
  const title = props.isFirst ? 'Choose a password' : 'Change your password';
  return await sendPage(reply, deps, { title, body: PasswordPage(props) });
}

/** Says when to come again, to people and to programs (RFC 9110, section 10.2.3). */
function refuseForNow(reply: FastifyReply, { ms }: Wait): Problem {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  reply.header('retry-after', String(seconds));
  const span =
    seconds < 120 ? `${seconds} ${seconds === 1 ? 'second' : 'seconds'}` : `${Math.ceil(seconds / 60)} minutes`;
  return new Problem(429, 'There were too many tries. No password was looked at.', `Try again in ${span}.`);
}
