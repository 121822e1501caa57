import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { OidcSettings } from '../../config/web.ts';
import { signInOidcUser } from '../../people/oidc-user.ts';
import { ownPath } from '../people/own-path.ts';
import { goOn } from '../people/sign-in-routes.ts';
import { Problem } from '../problem.ts';
import { beginSession } from '../session.ts';
import type { Web, WebDeps } from '../web.ts';
import { readClaims } from './claims.ts';
import { beginning, CALLBACK, openProvider, type Provider, providerCode } from './provider.ts';

/** Strict would keep it back when the provider sends the browser here. */
const BEGUN_COOKIE = '__Host-payrun-sign-in';
const BEGUN_S_MAX = 10 * 60;
const COOKIE = { path: '/', httpOnly: true, secure: true, sameSite: 'lax' } as const;
const SEARCH_CHARACTERS_MAX = 8000;

const text = z.string().min(1).max(4000);
const begunSchema = z.strictObject({ state: text, nonce: text, verifier: text, next: z.string().max(4000) });

const asked = {
  querystring: z.strictObject({ next: z.string().max(4000).catch('/').default('/').transform(ownPath) }),
};
const returned = { querystring: z.record(z.string().max(64), z.union([z.string(), z.array(z.string())])) };

const BEGIN_ANEW = 'Begin anew at the page to sign in.';

/** To sign in with an identity provider, where one is configured. */
export function addOidcPages(web: Web, deps: WebDeps): void {
  const { oidc } = deps.settings;
  if (oidc === null) return;
  const provider = openProvider(oidc);

  web.get('/sign-in/provider', { config: { act: 'public' }, schema: asked }, async (request, reply) => {
    const begun = beginning();
    const url = await provider.begin(begun).catch((error: unknown) => tellBroken(deps, error));
    reply.setCookie(BEGUN_COOKIE, seal({ ...begun, next: request.query.next }), { ...COOKIE, maxAge: BEGUN_S_MAX });
    return await reply.redirect(url.href, 303);
  });

  web.get(CALLBACK, { config: { act: 'public' }, schema: returned }, async (request, reply) => {
    return await letIn({ request, reply }, deps, { provider, oidc });
  });
}

async function letIn(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  deps: WebDeps,
  { provider, oidc }: { provider: Provider; oidc: OidcSettings },
): Promise<FastifyReply> {
  const begun = unseal(request.cookies[BEGUN_COOKIE]);
  const { search } = new URL(request.url, oidc.address);
  // Whatever comes of it, it is good for one answer.
  reply.clearCookie(BEGUN_COOKIE, COOKIE);
  if (begun === undefined || search.length > SEARCH_CHARACTERS_MAX || !isAnswerTo(search, begun)) {
    throw new Problem(400, 'This sign-in was not begun in this browser, or more than ten minutes ago.', BEGIN_ANEW);
  }
  const finished = await provider.finish(search, begun).catch((error: unknown) => tellBroken(deps, error));
  if (finished.kind === 'refused') {
    const code = /^[a-z_]{1,64}$/.test(finished.code) ? finished.code : 'error';
    throw new Problem(403, `The identity provider did not let you in (${code}).`, BEGIN_ANEW);
  }
  if (finished.kind === 'forged') {
    deps.app.log.warn('an answer of the identity provider was refused', { code: finished.code });
    throw new Problem(403, 'The answer of the identity provider does not hold, and was refused.', BEGIN_ANEW);
  }
  const claimed = readClaims(finished.claims, oidc);
  if ('problem' in claimed) {
    throw new Problem(403, claimed.problem, 'Ask whoever runs the identity provider; your account there lacks it.');
  }
  const people = { ...deps.app, passwords: deps.passwords };
  const answer = await signInOidcUser(people, { ...claimed, issuer: oidc.issuer, ip: request.ip });
  if (answer.kind === 'refused') throw new Problem(403, REFUSED[answer.why], 'Ask an admin of payrun.');
  const whose = { name: answer.user.name, next: ownPath(begun.next) };
  return await goOn(reply, deps, await beginSession({ request, reply }, deps, whose));
}

const REFUSED = {
  unknown: 'The identity provider knows you, and nobody has added you here.',
  disabled: 'The identity provider knows you, and you were disabled here.',
  'too-many': 'The identity provider knows you, and there are too many users here to add you.',
  'somebody-else': 'The identity provider knows you, and the user of your name here is somebody else.',
  taken: 'The identity provider knows you, and your name is too much like that of a user here.',
  'not-invited':
    'The identity provider knows you, and nobody has invited you to sign in by it. An admin resets you for that; come back within a day.',
} as const;

/** Told apart from a provider that is at fault, so that a stale answer is nobody's alarm; the provider's client checks it again. */
function isAnswerTo(search: string, { state }: { readonly state: string }): boolean {
  return new URLSearchParams(search).get('state') === state;
}

function tellBroken({ app }: WebDeps, error: unknown): never {
  app.log.error('the identity provider could not be used', { code: providerCode(error) });
  throw new Problem(
    503,
    'The identity provider cannot be reached, or does not answer payrun.',
    'Try again; if it stays, tell whoever runs payrun: "web.oidc" of PAYRUN_CONFIG, and the log, say more.',
  );
}

function seal(begun: z.infer<typeof begunSchema>): string {
  return Buffer.from(JSON.stringify(begun)).toString('base64url');
}

function unseal(cookie: string | undefined): z.infer<typeof begunSchema> | undefined {
  try {
    return begunSchema.safeParse(JSON.parse(Buffer.from(cookie ?? '', 'base64url').toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
