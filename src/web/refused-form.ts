import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { Refusal } from '../refusal.ts';
import { problemOf } from './problem.ts';
import type { RefusedForm, Web, WebDeps } from './web.ts';

/** A page on which a form may stand. */
interface Page {
  readonly query: z.ZodType | undefined;
  readonly show: (request: FastifyRequest, reply: FastifyReply) => unknown;
}

type Answer = (error: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<boolean>;

/**
 * Answers a form that was refused with its page, as the route's `page` names it: with what was typed, and what is wrong.
 * Gives false, and answers nothing, for what is no such form, and where its page cannot be shown any more.
 */
export function openReturns(web: Web, deps: WebDeps): Answer {
  const pages = new Map<string, Page>();
  web.decorateRequest('refused', null);
  web.addHook('onRoute', ({ method, url, schema, handler }) => {
    const query = schema?.querystring instanceof z.ZodType ? schema.querystring : undefined;
    if (method === 'GET') pages.set(url, { query, show: (request, reply) => handler.call(web, request, reply) });
  });
  return async (error, request, reply) => {
    const { page: route } = request.routeOptions.config;
    const page = route === undefined ? undefined : pages.get(route);
    if (route === undefined || page === undefined || !isOwnForm(request) || isOfAddress(error)) return false;
    request.refused = refusedForm(error, request, route);
    reply.status(request.refused.problem.status);
    try {
      request.query = queryOf(request, page, deps);
      await page.show(request, reply);
      return true;
    } catch (fault) {
      request.refused = null;
      deps.app.log.debug('the page of a form that was refused is not shown', { request: request.id, error: fault });
      return false;
    }
  };
}

/** Whether it comes from a page of ours and of this session; only then what it says is shown to anybody. */
function isOwnForm({ who, body, routeOptions }: FastifyRequest): boolean {
  if (!isRecord(body)) return false;
  return who === null ? routeOptions.config.act === 'public' : who.csrf !== null && body['csrf'] === who.csrf;
}

/** Whether it says of the address, rather than of the form, that something is wrong with it. */
function isOfAddress(error: unknown): boolean {
  return hasZodFastifySchemaValidationErrors(error) && error.validationContext !== 'body';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

const ADDRESS = /^\s*[a-z][a-z0-9+.-]*:\/\//i;

/** Whether an address may have a password in it, which nobody is shown again; passwords and names may have signs / and @. */
function mayHavePassword(text: string): boolean {
  const scheme = ADDRESS.exec(text)?.[0];
  if (scheme === undefined) return false;
  const colon = text.indexOf(':', scheme.length);
  return colon >= 0 && text.includes('@', colon);
}

function refusedForm(error: unknown, { id, url, body, params }: FastifyRequest, route: string): RefusedForm {
  const problem = problemOf(error);
  const texts = Object.entries(isRecord(body) ? body : {}).flatMap(([name, value]) =>
    typeof value === 'string' && !mayHavePassword(value) ? [[name, value] as const] : [],
  );
  const { csrf: _csrf, code: _code, form = '', ...typed } = Object.fromEntries(texts);
  const wrong = Object.keys(problem.fields);
  // A form names its fields in the order of its page; what was not chosen is not named.
  const order = texts.map(([name]) => name);
  const first = wrong.toSorted((one, other) => order.indexOf(one) - order.indexOf(other)).at(0);
  const [action = ''] = url.split('?', 1);
  const page = route.replaceAll(/:(\w+)/g, (_all, name: string) => String(isRecord(params) ? params[name] : ''));
  const mayBeDone = problem.status >= 500 && !(error instanceof Refusal);
  return { problem, requestId: id, mayBeDone, page, action, form, typed, first };
}

/** What the page is asked for with: the query under which the form was seen, where the browser tells it. */
function queryOf({ headers, refused }: FastifyRequest, { query }: Page, { hosts }: WebDeps): unknown {
  const { referer = '' } = headers;
  const from = URL.canParse(referer) ? new URL(referer) : undefined;
  const isOwn = from !== undefined && hosts.has(from.host) && from.pathname === refused?.page;
  const seen = query?.safeParse(isOwn ? Object.fromEntries(from.searchParams) : {});
  return seen?.success === true ? seen.data : query?.parse({});
}
