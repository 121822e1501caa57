/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Somebody at a browser without scripts: brings the cookies it was given, and the token of the last page in its forms. */
export interface Visitor {
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, form?: Record<string, string>, headers?: Record<string, string>): Promise<Answer>;
  /** Sends a form in parts; a file is one field. */
  upload(path: string, parts: FormData): Promise<Answer>;
  readonly cookies: Map<string, string>;
  readonly csrf: () => string;
}

/** Somebody new at the web app of this address. */
export function openVisitor(base: string): Visitor {
  const cookies = new Map<string, string>();
  let csrf = '';
  const ask = async (path: string, init: RequestInit): Promise<Answer> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(`${base}${path}`, {
      redirect: 'manual',
      ...init,
      headers: { ...(cookie === '' ? {} : { cookie }), ...(init.headers as Record<string, string>) },
    });
    for (const line of response.headers.getSetCookie()) keepCookie(cookies, line);
    const text = await response.text();
    csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? csrf;
    return { status: response.status, headers: response.headers, text };
  };
  const own = { origin: base, 'sec-fetch-site': 'same-origin' };
  return {
    cookies,
    csrf: () => csrf,
    get: (path, headers = {}) => ask(path, { headers }),
    post: (path, form = {}, headers = own) =>
      ask(path, { method: 'POST', headers, body: new URLSearchParams({ csrf, ...form }) }),
    upload(path, parts) {
      const body = new FormData();
      body.set('csrf', csrf);
      for (const [name, value] of parts) body.append(name, value);
      return ask(path, { method: 'POST', headers: own, body });
    },
  };
}

function keepCookie(cookies: Map<string, string>, line: string): void {
  const [pair = '', ...attributes] = line.split('; ');
  const [name = '', value = ''] = pair.split('=');
  const isGone =
    value === '' || attributes.some((one) => one === 'Max-Age=0' || one.startsWith('Expires=Thu, 01 Jan 1970'));
  if (isGone) cookies.delete(name);
  else cookies.set(name, value);
}
