import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { systemRandom } from '../../src/clock.ts';
import { silentLog } from '../../src/log.ts';
import { openPasswords } from '../../src/people/password.ts';
import { addUser, disableUser, listUsers } from '../../src/people/users.ts';
import { redoMissedDecisions } from '../../src/runs/safety/missed-decisions.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { CHEAP } from '../people/people-rig.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';

/* The eighth attack: a proposal to add a user that was withdrawn after the copy. */

let server: TestRedis;
let app: App & { readonly dir: string };
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.stop();
});
beforeEach(async () => {
  app = await openTestApp(server.url);
});
afterEach(async () => {
  await app.close();
});

const deps = () => ({
  ledger: app.ledger,
  clock: app.clock,
  random: systemRandom,
  passwords: openPasswords(systemRandom, CHEAP),
});

test('a proposal to add an admin that was withdrawn after the copy is not confirmed by one person', async () => {
  await addUser(deps(), { name: 'rita', role: 'admin', actor: 'root' });
  const asked = { name: 'eve', role: 'admin' } as const;
  expect((await addUser(deps(), { ...asked, actor: 'mallory' })).kind).toBe('proposed');
  const putBack = await copyLedger(server.redis, app.config.prefix);
  // Rita finds it, and withdraws it.
  await disableUser(deps(), { name: 'eve', actor: 'rita' });
  expect((await listUsers(deps())).proposals).toEqual([]);
  await putBack();
  const { server: now } = await app.ledger.state.season();
  await redoMissedDecisions({ ledger: app.ledger, clock: app.clock, log: silentLog }, now);
  expect.soft((await listUsers(deps())).proposals).toEqual([]);
  // Days later somebody else adds a colleague of that name: it is his word alone.
  expect((await addUser(deps(), { ...asked, actor: 'bob' })).kind).toBe('proposed');
});
