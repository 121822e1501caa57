import { onTestFinished } from 'vitest';
import type { Role } from '../../src/access/roles.ts';
import type { EnvironmentVariables } from '../../src/config/config.ts';
import { NO_WEB_SETTINGS, type WebSettings } from '../../src/config/web.ts';
import { openPasswords } from '../../src/people/password.ts';
import { startSession } from '../../src/people/sessions.ts';
import { changePassword, type SignInDeps } from '../../src/people/sign-in.ts';
import { addUser, type UserDeps } from '../../src/people/users.ts';
import { openWeb } from '../../src/web/server.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import type { WebDeps } from '../../src/web/web.ts';
import { openTestApp } from '../runs/opened-app.ts';
import { openVisitor, type Visitor } from './visitor.ts';

export type { Answer, Visitor } from './visitor.ts';

/** Of everybody in a rig. */
export const PASSWORD = 'four words for this test';
const CHEAP = { N: 2 ** 8, r: 8, p: 1 };

/** The web app on a ledger and a data directory of its own, on a socket of its own. */
export async function openWebRig(
  redisUrl: string,
  options: {
    settings?: Partial<WebSettings>;
    env?: EnvironmentVariables;
    /** What else the web app is made of. */
    deps?: (app: WebDeps['app']) => Partial<WebDeps>;
  } = {},
) {
  const app = await openTestApp(redisUrl, options.env);
  const hosts = new Set<string>();
  const passwords = openPasswords(app.random, CHEAP);
  const settings = { ...NO_WEB_SETTINGS, ...options.settings };
  const web = await openWeb({ app, settings, passwords, hosts, ...options.deps?.(app) });
  const base = await web.listen({ host: '127.0.0.1', port: 0 });
  hosts.add(new URL(base).host);
  onTestFinished(async () => {
    await web.close();
    await app.close();
  });

  const visitor = (): Visitor => openVisitor(base);
  /** The session of somebody with this role. */
  const session = async (name: string, role: Role): Promise<string> => {
    await addPerson({ ...app, passwords }, name, role);
    return await startSession(app, name);
  };
  /** Somebody with this role, signed in. */
  const person = async (name: string, role: Role): Promise<Visitor> => {
    const one = visitor();
    one.cookies.set(SESSION_COOKIE, await session(name, role));
    await one.get('/runs');
    return one;
  };
  return { app, web, base, hosts, passwords, visitor, session, person };
}

/** Adds somebody who has chosen their password, with as many people as that needs. */
async function addPerson(deps: UserDeps & SignInDeps, name: string, role: Role): Promise<void> {
  const { users } = await deps.ledger.people.read();
  if (users.length === 0 && role !== 'admin') await addUser(deps, { name: 'root', role: 'admin', actor: 'test' });
  const first = await addUser(deps, { name, role, actor: 'one test' });
  if (first.kind === 'proposed') await addUser(deps, { name, role, actor: 'another test' });
  if (!('secret' in first)) throw new Error(`${name} could not be added`);
  const credentials = { name, password: first.secret, newPassword: PASSWORD, ip: `test ${name}` };
  const { kind } = await changePassword(deps, credentials);
  if (kind !== 'changed') throw new Error(`${name} could not choose a password: ${kind}`);
}
