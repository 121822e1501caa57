import { z } from 'zod';
import { addPasskey, newPasskeyOptions, passkeyChallenge, removePasskey } from '../../people/passkeys.ts';
import { acceptFactor, offerFactor, ownFactor, readOffer, renewRecoveryCodes } from '../../people/second-factor.ts';
import { awaitedName } from '../../people/sessions.ts';
import { actorOf } from '../actor.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm, readNoFields } from '../parts/read-form.ts';
import { Problem } from '../problem.ts';
import { keepSession, readSession, SESSION_COOKIE, sessionIdOf } from '../session.ts';
import type { Web, WebDeps } from '../web.ts';
import { FactorPage, RecoveryCodesPage } from './factor-page.tsx';
import { originOf, proveAnew, waitForCode, wrongCode } from './step-up.ts';

const PAGE = '/second-factor';
const TITLE = 'Second factor';
const config = { act: 'read', page: PAGE } as const;
const fields = { body: z.record(z.string().max(64), z.string().max(8000)) };
const form = z.strictObject({
  typed: z.string().min(1, 'must not be empty').max(64, 'must have at most 64 characters'),
});

const proof = z.strictObject({
  typed: z.string().min(1, 'must not be empty').max(4000, 'must have at most 4000 characters'),
});
const made = z.strictObject({ credential: z.string().min(1, 'must not be empty') });
const removed = z.strictObject({ passkey: z.string().min(1, 'must not be empty') });

/** What people do about their own second factor. A program's key has none. */
export function addFactorPages(web: Web, deps: WebDeps): void {
  const { app } = deps;

  web.get(PAGE, { config: { act: 'read' } }, async (request, reply) => {
    const name = actorOf(request);
    const [factor, offer] = await Promise.all([
      ownFactor(app, name),
      readOffer(app, { id: sessionIdOf(request), name }),
    ]);
    return await sendPage(reply, deps, { title: TITLE, body: FactorPage({ factor, offer }) });
  });

  web.post(`${PAGE}/begin`, { config: { ...config, provesAnew: true }, schema: fields }, async (request, reply) => {
    requirePerson(request.who);
    readNoFields(request.body);
    await offerFactor(app, { id: sessionIdOf(request), name: actorOf(request) });
    return await reply.redirect(PAGE, 303);
  });

  web.post(PAGE, { config, schema: fields }, async (request, reply) => {
    const { typed: code } = readForm(form, request.body);
    const name = actorOf(request);
    const result = await acceptFactor(app, { id: sessionIdOf(request), name, code, ip: request.ip });
    if (result.kind === 'wait') throw waitForCode(reply, result, 'typed');
    if (result.kind === 'late') throw new Problem(409, 'Nothing is being set up any more.', 'Begin it anew.');
    if (result.kind === 'refused') throw wrongCode('typed');
    keepSession(reply, result.id);
    request.cookies = { ...request.cookies, [SESSION_COOKIE]: result.id };
    request.who = await readSession(request, deps);
    const body = RecoveryCodesPage({ codes: result.recoveryCodes });
    return await sendPage(reply, deps, { title: 'Recovery codes', body });
  });

  web.post(`${PAGE}/recovery`, { config: { ...config, provesAnew: true }, schema: fields }, async (request, reply) => {
    requirePerson(request.who);
    readNoFields(request.body);
    const codes = await renewRecoveryCodes(app, { name: actorOf(request), ip: request.ip });
    if (codes.length === 0) throw new Problem(409, 'You have no second factor.', 'Set one up first.');
    return await sendPage(reply, deps, { title: 'Recovery codes', body: RecoveryCodesPage({ codes }) });
  });

  web.post(`${PAGE}/prove`, { config, schema: fields }, async (request, reply) => {
    const { typed: code } = readForm(proof, request.body);
    await proveAnew({ request, reply }, deps, { name: actorOf(request), code, field: 'typed' });
    return await reply.redirect(PAGE, 303);
  });
}

/** What a browser asks and makes passkeys with. */
export function addPasskeyRoutes(web: Web, deps: WebDeps): void {
  const { app } = deps;

  // Also for whoever is half signed in.
  const challenge = { config: { act: 'public', page: PAGE }, bodyLimit: 16 * 1024, schema: fields } as const;
  web.post(`${PAGE}/challenge`, challenge, async (request) => {
    readNoFields(request.body);
    if (request.who !== null) requirePerson(request.who);
    const name = request.who?.name ?? (await awaitedName(app, sessionIdOf(request)));
    const options = name === undefined ? undefined : await passkeyChallenge(app, { name, origin: originOf(request) });
    if (options === undefined) throw new Problem(409, 'You have no passkey.', 'Type a code.');
    return options;
  });

  web.post(`${PAGE}/passkey/begin`, { config: { ...config, provesAnew: true }, schema: fields }, async (request) => {
    requirePerson(request.who);
    readNoFields(request.body);
    return await newPasskeyOptions(app, { name: actorOf(request), origin: originOf(request) });
  });

  web.post(`${PAGE}/passkey`, { config, schema: fields }, async (request, reply) => {
    requirePerson(request.who);
    const { credential } = readForm(made, request.body);
    const asked = { id: sessionIdOf(request), name: actorOf(request), ip: request.ip, origin: originOf(request) };
    const added = await addPasskey(app, { ...asked, made: credential });
    if (added === undefined) throw new Problem(409, 'This passkey was not added.', 'Begin it anew.');
    keepSession(reply, added.id);
    if (added.recoveryCodes.length === 0) return await reply.redirect(PAGE, 303);
    request.cookies = { ...request.cookies, [SESSION_COOKIE]: added.id };
    request.who = await readSession(request, deps);
    const body = RecoveryCodesPage({ codes: added.recoveryCodes });
    return await sendPage(reply, deps, { title: 'Recovery codes', body });
  });

  const remove = { config: { ...config, provesAnew: true }, schema: fields } as const;
  web.post(`${PAGE}/passkey/remove`, remove, async (request, reply) => {
    requirePerson(request.who);
    const { passkey } = readForm(removed, request.body);
    const asked = { id: sessionIdOf(request), name: actorOf(request), ip: request.ip };
    const mayBeNone = deps.settings.secondFactor === 'optional';
    const id = await removePasskey(app, { ...asked, passkey, mayBeNone });
    if (id === undefined) throw new Problem(409, 'You no longer have this passkey.', 'Look at the list again.');
    keepSession(reply, id);
    return await reply.redirect(PAGE, 303);
  });
}

function requirePerson(who: { readonly csrf: string | null } | null): void {
  if (who?.csrf === null) throw new Problem(403, 'A key has no second factor.', 'Sign in as a person.');
}
