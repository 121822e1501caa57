import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Act } from '../../access/roles.ts';
import { proveFactor } from '../../people/second-factor.ts';
import { renewSession } from '../../people/sessions.ts';
import type { Wait } from '../../people/sign-in.ts';
import { Problem } from '../problem.ts';
import { keepSession, readSession, SESSION_COOKIE, sessionIdOf } from '../session.ts';
import type { WebDeps } from '../web.ts';

/** Whatever needs a second person, and what decides who that may be (OWASP ASVS 7.5.3). */
const ACTS: ReadonlySet<Act | 'public'> = new Set(['approve', 'settle', 'block', 'users', 'settings']);
const PROOF_HOLDS_MS = 5 * 60_000;
/** A passkey's answer is longer than any code. */
const CODE_CHARACTERS_MAX = 4000;

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/**
 * Asks for the second factor again before what is dangerous is done, where its last proof is older than five minutes: the
 * form, or the header `X-Second-Factor`, brings a code. The session goes on under another id. Throws a Problem where there
 * is no code, or a wrong one; a key is no person, and what it may do needs none.
 */
export async function requireFactor({ request, reply }: Exchange, deps: WebDeps): Promise<void> {
  const { who } = request;
  const { act = 'public', provesAnew = false } = request.routeOptions.config;
  if (who === null || who.proof === null || !(ACTS.has(act) || provesAnew)) return;
  const isFresh = deps.app.clock.now() < who.proof.at + PROOF_HOLDS_MS;
  if (!who.proof.hasFactor) return requireSignIn(deps, { isFresh, provesAnew });
  if (isFresh) return;
  const code = codeOf(request);
  if (code === '')
    throw new Problem(403, 'This asks for your second factor again.', 'Type a code of it, and send this again.', {
      code: 'Type a code of your authenticator app or one of your recovery codes, or use your passkey.',
    });
  await proveAnew({ request, reply }, deps, { name: who.name, code, field: 'code' });
}

/** Takes a code of the second factor of whoever asks, who is then as good as just signed in. Throws a Problem. */
export async function proveAnew(
  { request, reply }: Exchange,
  deps: WebDeps,
  { name, code, field }: { readonly name: string; readonly code: string; readonly field: string },
): Promise<void> {
  const result = await proveFactor(deps.app, { name, code, ip: request.ip, origin: originOf(request) });
  if (result.kind === 'wait') throw waitForCode(reply, result, field);
  if (result.kind === 'refused') throw wrongCode(field);
  const id = await renewSession(deps.app, sessionIdOf(request));
  if (id === undefined) throw new Problem(401, 'Your session is over.', 'Sign in, and do it again.');
  keepSession(reply, id);
  request.cookies = { ...request.cookies, [SESSION_COOKIE]: id };
  request.who = await readSession(request, deps);
  // A form of the former session goes on as one of this.
  if (isRecord(request.body) && 'csrf' in request.body) request.body = { ...request.body, csrf: request.who?.csrf };
}

/** The page from which a browser sends; the guard has seen to it that it is one of ours. */
export function originOf({ headers }: FastifyRequest): string {
  return headers.origin ?? '';
}

/** `field` is the one into which the code was typed. */
export function wrongCode(field = 'code'): Problem {
  const words = 'This code is not right, or was used before.';
  return new Problem(401, words, 'Wait for the next one of your app, or take another recovery code.', {
    [field]: words,
  });
}

/** Says when to come again, to people and to programs (RFC 9110, section 10.2.3). */
export function waitForCode(reply: FastifyReply, { ms }: Wait, field = 'code'): Problem {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  reply.header('retry-after', String(seconds));
  const words = 'There were too many codes. This one was not looked at.';
  return new Problem(429, words, `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`, {
    [field]: words,
  });
}

function requireSignIn(
  { settings }: WebDeps,
  { isFresh, provesAnew }: { readonly isFresh: boolean; readonly provesAnew: boolean },
): void {
  if (provesAnew && !isFresh)
    throw new Problem(
      403,
      'You signed in too long ago for this.',
      'Sign out, sign in again, and do it within five minutes.',
    );
  if (!provesAnew && settings.secondFactor === 'required')
    throw new Problem(403, 'This needs a second factor, and you have none.', 'Set one up under Second factor.');
}

function codeOf({ body, headers }: FastifyRequest): string {
  const code = isRecord(body) && 'code' in body ? body['code'] : headers['x-second-factor'];
  return typeof code === 'string' ? code.trim().slice(0, CODE_CHARACTERS_MAX) : '';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
