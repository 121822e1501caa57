import type { FastifyRequest } from 'fastify';
import type { Web } from './web.ts';

/** Notes the routes that are added from now on; tells by which other methods there is one for the path of a request. */
export function noteMethods(web: Web): (request: Pick<FastifyRequest, 'method' | 'url'>) => string[] {
  const paths = new Map<string, Set<string>>();
  web.addHook('onRoute', ({ url, method }) => {
    const methods = paths.get(url) ?? new Set();
    for (const one of [method].flat()) methods.add(one);
    paths.set(url, methods);
  });
  return ({ method, url }) => {
    const methods = methodsAt(paths, url);
    return methods.includes(method) ? [] : methods;
  };
}

function methodsAt(paths: ReadonlyMap<string, ReadonlySet<string>>, url: string): string[] {
  const parts = (url.split('?', 1)[0] ?? '').split('/');
  const found = [...paths].filter(([path]) => {
    const names = path.split('/');
    return names.length === parts.length && names.every((name, at) => name === parts[at] || isGiven(name, parts[at]));
  });
  return [...new Set(found.flatMap(([, methods]) => [...methods]))].toSorted();
}

function isGiven(name: string, part: string | undefined): boolean {
  return name.startsWith(':') && part !== undefined && part !== '';
}
