import type { Browser, BrowserContextOptions } from 'playwright-core';
import type { Role } from '../../src/access/roles.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { openWebRig } from '../web/rig.ts';
import { openVisitor, type Visitor } from './browser.ts';

/** The web app in this process, on a ledger that the test fills, and people at browsers who have signed in. */
export async function openDesk(redisUrl: string, browser: Browser, options: Parameters<typeof openWebRig>[1] = {}) {
  const rig = await openWebRig(redisUrl, options);
  return { ...rig, browse: browsing(rig, browser) };
}

/** Opens browsers on a web app that is there already. */
export function browsing(
  { base, person }: Pick<Awaited<ReturnType<typeof openWebRig>>, 'base' | 'person'>,
  browser: Browser,
) {
  return async (name: string, role: Role, context: BrowserContextOptions = {}): Promise<Visitor> => {
    const { cookies } = await person(name, role);
    return await signedIn(browser, { base, sessionId: cookies.get(SESSION_COOKIE) ?? '' }, context);
  };
}

/** A browser that has a session. */
export async function signedIn(
  browser: Browser,
  { base, sessionId }: { base: string; sessionId: string },
  context: BrowserContextOptions = {},
): Promise<Visitor> {
  const visitor = await openVisitor(browser, base, context);
  // A browser takes the local address for a safe one, as it does that of HTTPS.
  const url = base.replace('http:', 'https:');
  await visitor.page.context().addCookies([{ name: SESSION_COOKIE, value: sessionId, url, secure: true }]);
  return visitor;
}
