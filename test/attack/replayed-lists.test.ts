import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openKnownBlockList } from '../../src/pay/known-block-list.ts';
import { openPasswords } from '../../src/people/password.ts';
import { signIn } from '../../src/people/sign-in.ts';
import { disableUser } from '../../src/people/users.ts';
import { releaseHalt } from '../../src/runs/decide/release.ts';
import { addWithPassword, CHEAP, IP, PASSWORD } from '../people/people-rig.ts';
import { openTestApp } from '../runs/opened-app.ts';
import { useTestRedis } from '../support/redis.ts';

/*
 * Who can write to Redis and has no key of the ledger puts a former list back, with the seal that it had (docs/security.md).
 */

const server = await useTestRedis();

const SETTINGS = { PAYRUN_LEDGER_KEY: 'a key that is not in Redis, of the test' };

async function openSite() {
  const app = await openTestApp(server.url, SETTINGS);
  onTestFinished(() => app.close());
  const { prefix } = app.config;
  /** A process that starts later in the same data directory. */
  const later = async () => {
    const next = await openTestApp(server.url, { ...SETTINGS, PAYRUN_DATA_DIR: app.dir, PAYRUN_PREFIX: prefix });
    onTestFinished(() => next.close());
    return next;
  };
  return { app, later, prefix };
}

async function putBack(key: string, former: Record<string, string>): Promise<void> {
  await server.redis.del(key);
  if (Object.keys(former).length > 0) await server.redis.hset(key, former);
}

test.each([
  ['with its admin who was disabled since', 'former'],
  ['from before there were users', 'none'],
])(
  'a former list of users, %s, lets nobody in who starts later; two people look at it, and release',
  async (_what, which) => {
    const { app, later, prefix } = await openSite();
    const passwords = openPasswords(app.random, CHEAP);
    await addWithPassword({ ...app, passwords }, 'ada', 'admin');
    await addWithPassword({ ...app, passwords }, 'mallory', 'admin');
    const former = which === 'none' ? {} : await server.redis.hgetall(`${prefix}:people`);
    await disableUser(app, { name: 'mallory', actor: 'ada' });
    await app.ledger.people.read();
    await putBack(`${prefix}:people`, former);
    const { ledger, clock } = await later();
    const enter = async (name: string) =>
      await signIn({ ledger, clock, passwords }, { name, password: PASSWORD, ip: IP });
    await expect(enter('mallory')).rejects.toThrow(/Nobody is let in/);
    expect((await ledger.state.read()).halt).toMatch(/users and keys of programs were changed in Redis/);
    for (const by of ['anna', 'ben']) await releaseHalt({ ledger }, by);
    expect((await enter('ada')).kind).toBe(which === 'none' ? 'refused' : 'in');
    const { users } = await (await later()).ledger.people.read();
    expect(users.map(({ name }) => name).toSorted()).toEqual(which === 'none' ? [] : ['ada', 'mallory']);
  },
);

test('a former block list is none to a worker that starts after one that saw a later list', async () => {
  const { app, later, prefix } = await openSite();
  const { approvals } = app.ledger;
  await approvals.block('11111111-2222-4333-8444-555555555555', { by: 'carl', reason: 'fraud' });
  const former = await server.redis.hgetall(`${prefix}:blocked`);
  const seal = (await server.redis.get(`${prefix}:blocked-seal`)) ?? '';
  await approvals.block('21111111-2222-4333-8444-555555555555', { by: 'carl', reason: 'fraud' });
  expect(await openKnownBlockList(app.ledger).refresh()).toBe('true');
  await putBack(`${prefix}:blocked`, former);
  await server.redis.set(`${prefix}:blocked-seal`, seal);
  const { ledger } = await later();
  expect(await openKnownBlockList(ledger).refresh()).toBe('false');
  await ledger.approvals.sealBlockList(await ledger.approvals.blockListDigest());
  expect(await openKnownBlockList((await later()).ledger).refresh()).toBe('true');
});

test('a data directory that takes no file keeps nobody out', async () => {
  const { app } = await openSite();
  const passwords = openPasswords(app.random, CHEAP);
  mkdirSync(join(app.dir, 'seen.json', 'in the way'), { recursive: true });
  await addWithPassword({ ...app, passwords }, 'ada', 'admin');
  const { kind } = await signIn({ ...app, passwords }, { name: 'ada', password: PASSWORD, ip: IP });
  expect(kind).toBe('in');
});
