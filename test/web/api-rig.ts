import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { KeyRole, Role } from '../../src/access/roles.ts';
import type { EnvironmentVariables } from '../../src/config/config.ts';
import type { WebSettings } from '../../src/config/web.ts';
import { createKey } from '../../src/people/keys.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { openWebRig } from './rig.ts';

/** What an operation is asked with. A text or bytes are a file; anything else is sent as JSON. */
export interface Asked {
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined for what is no JSON. */
  readonly json: unknown;
}

/** A program with its key, or the script of a page with its session. */
export interface Caller {
  readonly headers: Readonly<Record<string, string>>;
  call(method: string, path: string, asked?: Asked): Promise<ApiAnswer>;
}

const operation = z.looseObject({ responses: z.record(z.string(), z.looseObject({})) });
const openApi = z.looseObject({
  openapi: z.literal('3.1.0'),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({ schemas: z.record(z.string(), z.looseObject({})) }),
});
export type OpenApi = z.infer<typeof openApi>;

/** The document is the same whatever the settings, and takes as long to make as a test: it is read once. */
let served: OpenApi | undefined;
/** Of each reply that the document describes. */
const schemas = new Map<string, z.ZodType>();

/** The web app with callers of its API. Each answer of theirs is held against the document that the app serves. */
export async function openApiRig(
  redisUrl: string,
  options: { settings?: Partial<WebSettings>; env?: EnvironmentVariables } = {},
) {
  const rig = await openWebRig(redisUrl, options);
  const { app, base } = rig;
  const reader = await rig.person('reader', 'viewer');
  served ??= openApi.parse(JSON.parse((await reader.get('/api/v1/openapi.json')).text));
  const document = served;
  const seen = new Set<string>();

  function caller(headers: Record<string, string>, isChecked: boolean): Caller {
    return {
      headers,
      async call(method, path, asked = {}) {
        const answer = await ask(base, headers, { method, path, ...asked });
        if (isChecked && path !== '/openapi.json') seen.add(requireAsDescribed(document, { method, path }, answer));
        return answer;
      },
    };
  }

  async function person(name: string, role: Role): Promise<Caller> {
    const visitor = await rig.person(name, role);
    const cookie = `${SESSION_COOKIE}=${visitor.cookies.get(SESSION_COOKIE)}`;
    const own = { origin: base, 'sec-fetch-site': 'same-origin', 'x-csrf-token': visitor.csrf() };
    return caller({ cookie, ...own }, true);
  }

  /** Once there is a person, for the first one makes an admin beside them. */
  async function program(name: string, role: KeyRole): Promise<Caller> {
    const made = await createKey(app, { name, role, actor: 'root' });
    if (made.kind !== 'done') throw new Error('the key is only proposed');
    return caller({ authorization: `Bearer ${made.bearer}` }, true);
  }

  return { ...rig, visit: rig.person, document, seen, person, program, stranger: caller({}, false) };
}

async function ask(
  base: string,
  own: Readonly<Record<string, string>>,
  { method, path, body, headers = {} }: Asked & { method: string; path: string },
): Promise<ApiAnswer> {
  const isPlain = typeof body === 'string' || body instanceof Uint8Array || body instanceof FormData;
  const content = body === undefined || isPlain ? body : JSON.stringify(body);
  const type = body === undefined || isPlain ? {} : { 'content-type': 'application/json' };
  const response = await fetch(`${base}/api/v1${path}`, {
    method,
    headers: { ...own, ...type, ...headers },
    redirect: 'manual',
    ...(content === undefined ? {} : { body: content as string | FormData | Uint8Array<ArrayBuffer> }),
  });
  const text = await response.text();
  const isJson = /^application\/(problem\+)?json/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
}

/** The path of the document that stands for an address. */
function describedPath({ paths }: OpenApi, method: string, path: string): string {
  const parts = `/api/v1${path.split('?', 1)[0]}`.split('/');
  const found = Object.entries(paths).find(([one, methods]) => {
    const names = one.split('/');
    const isIt = names.length === parts.length && names.every((name, at) => name === parts[at] || name.startsWith('{'));
    return isIt && method.toLowerCase() in methods;
  });
  if (found === undefined) throw new Error(`${method} ${path} is not described`);
  return found[0];
}

/** Fails unless the answer is what the document says of it; gives the operation, such as `GET /api/v1/runs/{run}`. */
function requireAsDescribed(
  document: OpenApi,
  { method, path }: { method: string; path: string },
  { status, headers, json }: ApiAnswer,
): string {
  const described = describedPath(document, method, path);
  const { responses } = document.paths[described]?.[method.toLowerCase()] ?? { responses: {} };
  const response = z
    .looseObject({ content: z.record(z.string(), z.object({ schema: z.looseObject({}) })).optional() })
    .parse(responses[String(status)] ?? responses['default']);
  const type = headers.get('content-type')?.split(';', 1)[0] ?? '';
  const { schema } = response.content?.[type] ?? {};
  if (status !== 204) expect(Object.keys(response.content ?? {}), `${method} ${path} ${status}`).toContain(type);
  if (schema !== undefined && json !== undefined) {
    const reply = `${described} ${method} ${status} ${type}`;
    const expected = schemas.get(reply) ?? z.fromJSONSchema(withDefinitions(document, schema));
    schemas.set(reply, expected);
    expect(expected.safeParse(json).error?.issues, `${method} ${path} ${status}`).toBeUndefined();
  }
  return `${method} ${described}`;
}

/** The schema alone, with those that it refers to. */
function withDefinitions({ components }: OpenApi, schema: object): Parameters<typeof z.fromJSONSchema>[0] {
  const text = JSON.stringify({ ...schema, $defs: components.schemas });
  return JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')) as Parameters<typeof z.fromJSONSchema>[0];
}

/** The settings of a process whose PAYRUN_CONFIG says this. */
export async function configured(settings: object): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'payrun-api-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'config.json');
  await writeFile(path, JSON.stringify(settings));
  return { PAYRUN_CONFIG: path };
}
