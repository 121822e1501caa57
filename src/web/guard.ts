import { timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Act, mayKey } from '../access/roles.ts';
import { readKey } from '../people/keys.ts';
import { requireFactor } from './account/step-up.ts';
import { WEB_LIMITS } from './limits/limits.ts';
import { openRate } from './limits/rate.ts';
import { openRedisCheck } from './limits/redis-answers.ts';
import { Problem } from './problem.ts';
import { readSession } from './session.ts';
import type { Web, WebDeps } from './web.ts';

const UNSAFE = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
/** Public routes that need no ledger. */
const NEEDS_NO_LEDGER = ['/static/', '/healthz', '/readyz'];
/** Where the pages of somebody end who has not signed in. */
const SIGN_IN = '/sign-in';
/** Routes that a library adds, by the beginning of their paths. */
const ACTS_OF_PLUGINS: readonly (readonly [string, Act | 'public'])[] = [
  ['/static/', 'public'],
  ['/admin/queues', 'queues'],
];

/**
 * Lets a request through to its route when it came to a name of ours, from a page of ours where it changes something, by
 * somebody who may do what the route does (docs/security.md). A route that does not say what it does is refused
 * when the server is made.
 */
export function guardRoutes(web: Web, deps: WebDeps): void {
  const limitKey = openKeyLimit(deps);
  const requireRedis = openRedisCheck(deps.app);
  web.decorateRequest('who', null);
  web.addHook('onRoute', (route) => {
    const act = route.config?.act ?? ACTS_OF_PLUGINS.find(([prefix]) => route.url.startsWith(prefix))?.[1];
    if (act === undefined) throw new Error(`the route ${String(route.method)} ${route.url} does not say what it does`);
    route.config = { ...route.config, act };
  });
  web.addHook('onRequest', async (request, reply) => {
    requireOwnHost(request, deps.hosts);
    const { config, url = '' } = request.routeOptions;
    const { act } = config;
    // A path that is none: the answer is the same whoever asks.
    if (act === undefined || NEEDS_NO_LEDGER.some((path) => url.startsWith(path))) return;
    if (UNSAFE.has(request.method) && bearerOf(request) === undefined) requireOwnOrigin(request, deps.hosts);
    await requireRedis();
    request.who = await whoAsks(request, deps);
    if (request.who?.csrf === null) limitKey(request.who.name, reply);
    if (act === 'public') return;
    if (request.who === null) return askToSignIn(request, reply);
    if (!request.who.may(act))
      throw new Problem(
        403,
        `Your role, ${request.who.role}, may not do this.`,
        'Ask somebody whose role allows it, or an admin for another role.',
      );
  });
  web.addHook('preHandler', async (request, reply) => {
    const { act, checksCsrf } = request.routeOptions.config;
    if (act === undefined || !UNSAFE.has(request.method)) return;
    const csrf = request.who?.csrf ?? null;
    if (csrf !== null && checksCsrf !== true) requireCsrf(csrf, csrfOf(request));
    await requireFactor({ request, reply }, deps);
  });
}

/** Throws unless a form repeats the token of its session (OWASP CSRF: synchronizer token). */
export function requireCsrf(expected: string, given: unknown): void {
  const [one, other] = [Buffer.from(expected), Buffer.from(typeof given === 'string' ? given : '')];
  if (one.length === other.length && timingSafeEqual(one, other)) return;
  throw new Problem(403, 'This form is not one of your session.', 'Load the page anew and send its form again.');
}

/** An address in the guise of another name reaches nothing (DNS rebinding). */
function requireOwnHost({ headers, host }: FastifyRequest, hosts: ReadonlySet<string>): void {
  if (headers.host !== undefined && hosts.has(host.toLowerCase())) return;
  throw new Problem(
    421,
    'This host is not known here.',
    'Use the address that payrun names at its start, or have it added to "web.hosts" of PAYRUN_CONFIG.',
  );
}

/** What changes something comes from a page of ours; a browser says so in Sec-Fetch-Site, an old one in Origin only. */
function requireOwnOrigin({ headers }: FastifyRequest, hosts: ReadonlySet<string>): void {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const isOwn = site === undefined ? origin !== undefined && isOwnOrigin(origin, hosts) : site === 'same-origin';
  if (isOwn && (origin === undefined || isOwnOrigin(origin, hosts))) return;
  throw new Problem(
    403,
    'This request did not come from a page of payrun.',
    'Send it from there; programs bring a key instead.',
  );
}

function isOwnOrigin(origin: string, hosts: ReadonlySet<string>): boolean {
  return URL.canParse(origin) && hosts.has(new URL(origin).host);
}

async function whoAsks(request: FastifyRequest, deps: WebDeps): Promise<FastifyRequest['who']> {
  const bearer = bearerOf(request);
  if (bearer === undefined) return await readSession(request, deps);
  const key = await readKey(deps.app, bearer);
  if (key === undefined) throw new Problem(401, 'This key is not valid.', 'Have an admin make a new one.');
  return {
    name: `key ${key.name} of ${key.createdBy}`,
    role: key.role,
    csrf: null,
    proof: null,
    may: (act) => mayKey(key.role, act),
  };
}

/** Throws a Problem (429) for a key that asks more often than it may. */
function openKeyLimit({ app, limits }: WebDeps): (key: string, reply: FastifyReply) => void {
  const { keyRequestsPerMinuteMax: most } = { ...WEB_LIMITS, ...limits };
  const waitOf = openRate(app.clock, { requestsMax: most, perMs: 60_000 });
  return (key, reply) => {
    const ms = waitOf(key);
    if (ms === 0) return;
    const seconds = Math.ceil(ms / 1000);
    reply.header('retry-after', String(seconds));
    throw new Problem(429, `This key may send ${most} requests a minute.`, `Try again in ${seconds} seconds.`);
  };
}

function bearerOf({ headers }: FastifyRequest): string | undefined {
  return /^Bearer ([\x21-\x7e]{1,512})$/i.exec(headers.authorization ?? '')?.[1];
}

function csrfOf({ headers, body }: FastifyRequest): unknown {
  if (typeof body === 'object' && body !== null && 'csrf' in body) return body.csrf;
  return headers['x-csrf-token'];
}

async function askToSignIn(request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (isApi(request)) throw new Problem(401, 'Nobody has signed in.', 'Bring a key: Authorization: Bearer KEY.');
  if (UNSAFE.has(request.method)) {
    throw new Problem(
      401,
      'Nobody is signed in here any more, and what you sent was not done.',
      'Sign in, open the page anew, and send its form again.',
    );
  }
  await reply.redirect(`${SIGN_IN}?next=${encodeURIComponent(request.url)}`, 303);
}

/** Whether a program asks, which gets documents instead of pages. */
export function isApi({ url }: Pick<FastifyRequest, 'url'>): boolean {
  return url.startsWith('/api/');
}
