import { parseStrictJson } from '../../intake/strict-json.ts';
import { Problem } from '../problem.ts';
import type { Web } from '../web.ts';

/** What a payout file may come as, and how it ends when nobody names it. Each is streamed. */
export const FILE_TYPES: Readonly<Record<string, string>> = {
  'text/csv': 'csv',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/xml': 'xml',
  'text/xml': 'xml',
};

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Its body is a payout file, and nothing else is. */
    readonly takesFile?: boolean;
  }
}

/**
 * Bodies of the API: JSON that says no name twice and nothing of prototypes, or the bytes of a payout file. A form, or JSON
 * under another name, which other sites can make a browser send, is none (docs/security.md).
 */
export function readBodies(api: Web): void {
  api.removeContentTypeParser(['application/json', 'text/plain', 'application/x-www-form-urlencoded']);
  api.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    const { value, fault } = parseStrictJson(String(body));
    if (fault !== undefined) done(refuseJson(fault));
    else if (namesPrototype(value)) done(refuseJson('it names __proto__'));
    else done(null, value);
  });
  api.addContentTypeParser(Object.keys(FILE_TYPES), (_request, payload, done) => done(null, payload));
  api.addHook('preValidation', async ({ routeOptions, headers }) => {
    const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
    if (type === undefined) return;
    const isFile = type === 'multipart/form-data' || Object.hasOwn(FILE_TYPES, type);
    if (isFile !== (routeOptions.config.takesFile ?? false)) throw refuseType(routeOptions.config.takesFile ?? false);
  });
}

/** The Problem (415) for a body that an operation does not take. */
export function refuseType(takesFile: boolean): Problem {
  return takesFile
    ? new Problem(
        415,
        'The body is no payout file.',
        `Send the file under its type: ${Object.keys(FILE_TYPES).join(', ')}, or as the one file of multipart/form-data.`,
      )
    : new Problem(415, 'The body is not JSON.', 'Send it as application/json.');
}

function refuseJson(fault: string): Problem {
  return new Problem(400, `The body cannot be read: ${fault}.`, 'Send one JSON object as the API describes it.');
}

/** Without calling itself: a body may be as deep as it is long. */
function namesPrototype(body: unknown): boolean {
  const left = [body];
  for (let value = left.pop(); value !== undefined; value = left.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    if (Object.hasOwn(value, '__proto__')) return true;
    for (const one of Object.values(value)) if (one !== undefined) left.push(one);
  }
  return false;
}
