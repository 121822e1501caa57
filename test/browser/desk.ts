import type { Browser, BrowserContextOptions } from 'playwright-core';
import type { Role } from '../../src/access/roles.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { openWebRig } from '../web/rig.ts';
import { openVisitor, type Visitor } from './browser.ts';

/** The web app in this process, on a ledger that the test fills, and people at browsers who have signed in. */
export async function openDesk(redisUrl: string, browser: Browser, options: Parameters<typeof openWebRig>[1] = {}) {
  const rig = await openWebRig(redisUrl, options);
  const browse = async (name: string, role: Role, context: BrowserContextOptions = {}): Promise<Visitor> => {
    const { cookies } = await rig.person(name, role);
    const visitor = await openVisitor(browser, rig.base, context);
    const value = cookies.get(SESSION_COOKIE) ?? '';
    // A browser takes the local address for a safe one, as it does that of HTTPS.
    await visitor.page
      .context()
      .addCookies([{ name: SESSION_COOKIE, value, url: rig.base.replace('http:', 'https:'), secure: true }]);
    return visitor;
  };
  return { ...rig, browse };
}
