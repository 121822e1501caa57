import { describe, expect, test } from 'vitest';
import { signInOidcUser } from '../../src/people/oidc-user.ts';
import { disableUser, resetUser } from '../../src/people/users.ts';
import { useTestRedis } from '../support/redis.ts';
import { add, addWithPassword, IP, type PeopleRig, peopleRig } from './people-rig.ts';

const redis = await useTestRedis();

const ISSUER = 'https://login.example.com';
const DAY_MS = 24 * 60 * 60_000;

/** Somebody comes with this name and subject. */
async function come(
  rig: PeopleRig,
  who: readonly [name: string, subject: string],
  change: { issuer?: string; role?: 'maker' } = {},
): Promise<string> {
  const [name, subject] = who;
  const answer = await signInOidcUser(rig, { name, subject, role: null, issuer: ISSUER, ip: IP, ...change });
  return answer.kind === 'in' ? `in as ${answer.user.name}` : answer.why;
}

async function openInvited(): Promise<PeopleRig> {
  const rig = await peopleRig(redis.redis);
  await addWithPassword(rig, 'root', 'admin');
  await add(rig, 'anna', 'checker');
  return rig;
}

describe('somebody for whom an identity provider stands up', () => {
  test('is known by the provider and its subject from the first sign-in on, whatever their name there becomes', async () => {
    const rig = await openInvited();
    expect(await come(rig, ['anna', 's-1'])).toBe('in as anna');
    expect(await come(rig, ['anna berg', 's-1'])).toBe('in as anna');
    expect(await come(rig, ['root', 's-1'])).toBe('in as anna');
    const [bound] = await rig.acts('user.bound');
    expect(bound).toMatchObject({ target: 'user anna', details: { issuer: ISSUER, subject: 's-1' } });
  });

  test('is kept out when the user of that name is somebody else, there or at another provider', async () => {
    const rig = await openInvited();
    await come(rig, ['anna', 's-1']);
    expect(await come(rig, ['anna', 's-2'])).toBe('somebody-else');
    expect(await come(rig, ['anna', 's-1'], { issuer: 'https://other.example.com' })).toBe('somebody-else');
    expect(await come(rig, ['anna', 's-2'], { role: 'maker' })).toBe('somebody-else');
    expect(await come(rig, ['anna', 's-1'])).toBe('in as anna');
  });

  test.each(['ANNA', 'ａｎｎａ', ' anna', 'anna\u00A0', 'Anna'])(
    'is not taken for anna when they are %j',
    async (name) => {
      const rig = await openInvited();
      expect(await come(rig, [name, 's-2'])).toBe('unknown');
      expect(await come(rig, [name, 's-2'], { role: 'maker' })).toBe('taken');
      expect(await come(rig, ['anna', 's-1'])).toBe('in as anna');
    },
  );

  test('needs an invitation: no password of a user is enough, and none that is a day old', async () => {
    const rig = await openInvited();
    expect(await come(rig, ['root', 's-3'])).toBe('not-invited');
    expect(await come(rig, ['root', 's-3'], { role: 'maker' })).toBe('not-invited');
    rig.pass(DAY_MS);
    expect(await come(rig, ['anna', 's-1'])).toBe('not-invited');
    await resetUser(rig, { name: 'anna', actor: 'root' });
    expect(await come(rig, ['anna', 's-1'])).toBe('in as anna');
  });

  test('is somebody new after a reset by admins, and the former one stays out', async () => {
    const rig = await openInvited();
    await come(rig, ['anna', 's-1']);
    await resetUser(rig, { name: 'anna', actor: 'root' });
    expect(await come(rig, ['anna', 's-2'])).toBe('in as anna');
    expect(await come(rig, ['anna', 's-1'])).toBe('somebody-else');
  });

  test('is kept out under another name too once the user was disabled', async () => {
    const rig = await openInvited();
    await come(rig, ['anna', 's-1']);
    await disableUser(rig, { name: 'anna', actor: 'root' });
    expect(await come(rig, ['another', 's-1'], { role: 'maker' })).toBe('disabled');
  });

  test('whom the provider adds is bound from the beginning', async () => {
    const rig = await openInvited();
    expect(await come(rig, ['mia', 's-4'], { role: 'maker' })).toBe('in as mia');
    expect(await come(rig, ['mia', 's-5'], { role: 'maker' })).toBe('somebody-else');
    expect(await come(rig, ['mia2', 's-4'], { role: 'maker' })).toBe('in as mia');
    expect(await come(rig, ['mіа', 's-6'], { role: 'maker' })).toBe('taken');
  });
});
