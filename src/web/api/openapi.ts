import swagger from '@fastify/swagger';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { type Act, KEY_ROLES, mayKey, PERMISSIONS } from '../../access/roles.ts';
import { VERSION } from '../../version.ts';
import type { Web } from '../web.ts';
import { FILE_TYPES } from './bodies.ts';
import { documentNames } from './documents.ts';

const DESCRIPTION = `What the pages of payrun do, for programs. A program brings a key: \`Authorization: Bearer KEY\`; a script of a page brings its
session and \`X-CSRF-Token\`, and where it is asked for a code of its user's second factor as \`X-Second-Factor\`. A key may send 600 requests a
minute; then the answer is 429 with \`Retry-After\`. An \`Idempotency-Key\` is forgotten 30 days after it was first sent. Amounts are decimals with the currency's digits, times are RFC 3339 in UTC, what is absent is null.
Whatever cannot be done is answered with a problem document (RFC 9457) that names the remedy.`;

const PROBLEM = {
  description: 'What cannot be done, why, and what to do about it',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};
const REFUSALS = {
  401: { ...PROBLEM, description: 'No key, or one that does not hold' },
  403: { ...PROBLEM, description: 'Not for this role' },
  429: { ...PROBLEM, description: 'Too many requests; Retry-After says when to come again' },
};
const LICENSE = { name: 'Apache 2.0', identifier: 'Apache-2.0' };
const SECURITY = {
  key: { type: 'http' as const, scheme: 'bearer', description: 'A key that an admin had payrun make' },
};
const FILE = { type: 'string', contentMediaType: 'application/octet-stream' };

/** Describes the routes that are added after it, and serves the description (OpenAPI 3.1) at /openapi.json. */
export async function describeApi(api: Web): Promise<void> {
  const base = createJsonSchemaTransform({ schemaRegistry: documentNames });
  const named = createJsonSchemaTransformObject({ schemaRegistry: documentNames });
  await api.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'payrun', version: VERSION, description: DESCRIPTION, license: LICENSE },
      servers: [{ url: '/', description: 'The web app that serves this document' }],
      components: { securitySchemes: SECURITY },
      security: [{ key: [] }],
    },
    transform(route) {
      const { schema, url } = base(route);
      const { act = 'public', takesFile = false } = route.route.config ?? {};
      const response = { ...repliesOf(schema), ...(act === 'public' ? {} : REFUSALS), default: PROBLEM };
      const place = placeOf(String(route.route.method), url);
      const file = takesFile ? { body: FILE, consumes: [...Object.keys(FILE_TYPES), 'multipart/form-data'] } : {};
      return { schema: { ...schema, ...place, ...file, response, description: whoMay(act) }, url };
    },
    transformObject(document) {
      const all = named(document);
      if ('components' in all) dropRequests(all.components?.schemas ?? {});
      return all;
    },
  });
  api.get('/openapi.json', { config: { act: 'read' }, schema: { hide: true } }, async () => api.swagger());
}

const BASE = /^\/api\/v1\//;

/** How generated clients name an operation, and with which others it stands: by its path. */
function placeOf(method: string, url: string): { readonly operationId: string; readonly tags: readonly string[] } {
  const parts = url.replace(BASE, '').split('/');
  const words = parts.flatMap((part) => part.split(/[^A-Za-z0-9]+/)).filter((word) => word !== '');
  const capitals = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`);
  return { operationId: `${method.toLowerCase()}${capitals.join('')}`, tags: [parts[0] ?? ''] };
}

const replies = z.looseObject({ response: z.record(z.string(), z.looseObject({})) });

/** The replies of a route, each with a description. */
function repliesOf(schema: unknown): Record<string, object> {
  const { response = {} } = replies.safeParse(schema).data ?? {};
  return Object.fromEntries(Object.entries(response).map(([status, reply]) => [status, described(reply)]));
}

function described(reply: Readonly<Record<string, unknown>>): object {
  if ('content' in reply || reply['type'] === 'null') return reply;
  return { description: 'What was asked for', content: { 'application/json': { schema: reply } } };
}

/** Only replies share schemas; as they would be for requests, nothing refers to them. */
function dropRequests(schemas: Record<string, object>): void {
  for (const name of Object.keys(schemas)) if (name.endsWith('Input')) delete schemas[name];
}

function whoMay(act: Act | 'public'): string {
  if (act === 'public') return 'For everybody.';
  const keys = KEY_ROLES.filter((role) => mayKey(role, act));
  const people = `For ${PERMISSIONS[act].join(', ')}`;
  return keys.length === 0 ? `${people}; no key may do it.` : `${people}; also for keys: ${keys.join(', ')}.`;
}
