/** The environments of interface page, section 1. */
export const ENVIRONMENTS = ['test', 'prod'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

/** The six operations of interface page, section 4, and one that it does not have. */
export const OPERATIONS = ['token', 'tokenTest', 'quotes', 'identities', 'payments', 'payment', 'balances'] as const;
export type Operation = (typeof OPERATIONS)[number];

interface Route {
  readonly method: 'GET' | 'POST';
  readonly path: RegExp;
  readonly operation: Operation;
}

const ROUTES: readonly Route[] = [
  { method: 'POST', path: /^\/v2\/oauth\/token$/, operation: 'token' },
  { method: 'GET', path: /^\/v2\/oauth\/token\/test$/, operation: 'tokenTest' },
  { method: 'POST', path: /^\/v2\/quotes\/quote-collection$/, operation: 'quotes' },
  { method: 'GET', path: /^\/v2\/identities$/, operation: 'identities' },
  { method: 'POST', path: /^\/v2\/payments$/, operation: 'payments' },
  { method: 'GET', path: /^\/v2\/payments\/([^/]+)$/, operation: 'payment' },
  { method: 'GET', path: /^\/v2\/balances$/, operation: 'balances' },
];

export type Routed =
  | { readonly kind: 'operation'; readonly operation: Operation; readonly id: string }
  | { readonly kind: 'wrong-method'; readonly allow: string }
  | { readonly kind: 'unknown-path' };

/** Which operation a method and a path (without its query) name; `id` is the path parameter as it was sent, or empty. */
export function routeOf(method: string, path: string): Routed {
  for (const route of ROUTES) {
    const match = route.path.exec(path);
    if (match === null) continue;
    if (route.method !== method) return { kind: 'wrong-method', allow: route.method };
    return { kind: 'operation', operation: route.operation, id: match[1] ?? '' };
  }
  return { kind: 'unknown-path' };
}
