import { beforeEach, expect, test } from 'vitest';
import { createKey, listKeys, readKey, revokeKey } from '../../src/people/keys.ts';
import { useTestRedis } from '../support/redis.ts';
import { add, IP, type PeopleRig, peopleRig } from './people-rig.ts';

const DAY_MS = 24 * 60 * 60_000;

const server = await useTestRedis();
let rig: PeopleRig;

beforeEach(async () => {
  rig = await peopleRig(server.redis);
  await add(rig, 'anna', 'admin');
});

async function make(name = 'accounting', lifeMs?: number): Promise<string> {
  const made = await createKey(rig, {
    name,
    role: 'maker',
    actor: 'anna',
    ...(lifeMs === undefined ? {} : { lifeMs }),
  });
  if (made.kind !== 'done') throw new Error('not made');
  return made.bearer ?? '';
}

test('a key says who brings it; Redis and the audit log hold no secret of it', async () => {
  const bearer = await make();
  expect(bearer).toMatch(/^pr_[0-9a-f]{16}_[\w-]{43}$/);
  expect(await readKey(rig, bearer)).toEqual({ name: 'accounting', role: 'maker', createdBy: 'anna' });
  const [, , secret = ''] = /^pr_([0-9a-f]+)_(.+)$/.exec(bearer) ?? [];
  const stored = JSON.stringify([await rig.redis.hgetall(rig.keys.people), await rig.acts()]);
  expect(stored).not.toContain(secret);
  expect(await rig.acts('key.created')).toMatchObject([
    { actor: 'anna', target: 'key accounting', details: { role: 'maker' } },
  ]);
});

test('nothing else is a key', async () => {
  const [one, other] = [await make('one'), await make('other')];
  const [head, id, secret] = one.split('_');
  const wrong = ['', 'pr__', one.slice(0, -1), `${one}x`, `${one.slice(0, -2)}${one.endsWith('AA') ? 'BB' : 'AA'}`];
  const mixed = [`${head}_${id}_${other.slice(-43)}`, `${head}_${'0'.repeat(16)}_${secret}`, `pr_version_${secret}`];
  for (const bearer of [...wrong, ...mixed]) expect(await readKey(rig, bearer)).toBeUndefined();
});

test('it ends at its time', async () => {
  const bearer = await make('accounting', 30 * DAY_MS);
  rig.pass(30 * DAY_MS - 1);
  expect(await readKey(rig, bearer)).toBeDefined();
  rig.pass(1);
  expect(await readKey(rig, bearer)).toBeUndefined();
});

test('whoever proposed it alone is shown it; one person revokes it, at once', async () => {
  await add(rig, 'bob', 'admin');
  const { bearer } = await createKey(rig, { name: 'accounting', role: 'maker', actor: 'anna' });
  if (bearer === null) throw new Error('not shown');
  expect(await readKey(rig, bearer)).toBeUndefined();
  const made = await createKey(rig, { name: 'accounting', role: 'maker', actor: 'bob' });
  // Whoever was shown the key is behind what it does.
  expect(made).toMatchObject({ kind: 'done', key: { createdBy: 'anna' }, bearer: null });
  expect(await readKey(rig, bearer)).toBeDefined();
  await revokeKey(rig, { name: 'Accounting', actor: 'bob', ip: IP });
  expect(await readKey(rig, bearer)).toBeUndefined();
  expect(await listKeys(rig)).toEqual([]);
  expect(await rig.acts('key.revoked')).toMatchObject([
    { actor: 'bob', target: 'key accounting', details: { ip: IP } },
  ]);
  await expect(revokeKey(rig, { name: 'accounting', actor: 'bob' })).rejects.toThrow('There is no key accounting');
});

test('making one needs a second admin once there is one, and one person withdraws the proposal', async () => {
  await add(rig, 'bob', 'admin');
  const ask = (actor: string, lifeMs = DAY_MS) => createKey(rig, { name: 'accounting', role: 'viewer', actor, lifeMs });
  expect(await ask('anna')).toMatchObject({ kind: 'proposed' });
  await expect(ask('ANNA')).rejects.toThrow('another person has to confirm it');
  // For another time it is another key.
  expect(await ask('bob', 2 * DAY_MS)).toMatchObject({ kind: 'proposed' });
  expect(await listKeys(rig)).toEqual([]);
  expect(await ask('anna', 2 * DAY_MS)).toMatchObject({ kind: 'done', key: { createdBy: 'bob' } });
  await createKey(rig, { name: 'second', role: 'viewer', actor: 'anna' });
  await revokeKey(rig, { name: 'second', actor: 'bob' });
  expect(await createKey(rig, { name: 'second', role: 'viewer', actor: 'bob' })).toMatchObject({ kind: 'proposed' });
});

test('the list tells when each was used last, to the minute', async () => {
  const bearer = await make();
  await make('backup');
  rig.pass(DAY_MS);
  const usedAt = rig.clock.now();
  await readKey(rig, bearer);
  rig.pass(30_000);
  await readKey(rig, bearer);
  expect(await listKeys(rig)).toMatchObject([
    { name: 'accounting', lastUsedAt: usedAt, expiresAt: null },
    { name: 'backup', lastUsedAt: null },
  ]);
  expect(JSON.stringify(await listKeys(rig))).not.toContain('hash');
});

test('a name is taken, in whatever spelling, until its key is revoked', async () => {
  await make();
  await expect(make('ACCOUNTING')).rejects.toThrow('There is a key accounting already');
  await revokeKey(rig, { name: 'accounting', actor: 'anna' });
  await make();
  await expect(make('a|b')).rejects.toThrow('is no name for a key');
});

test('nobody makes a key before there is an admin', async () => {
  const empty = await peopleRig(server.redis);
  await expect(createKey(empty, { name: 'accounting', role: 'maker', actor: 'anna' })).rejects.toThrow(
    'There is no admin yet',
  );
});
