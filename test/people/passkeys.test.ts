import { generateKeyPairSync, sign } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { passkeyChallenge, removePasskey } from '../../src/people/passkeys.ts';
import { ownFactor, proveFactor } from '../../src/people/second-factor.ts';
import { findSession, renewSession, startSession } from '../../src/people/sessions.ts';
import { useTestRedis } from '../support/redis.ts';
import { base64url, givePasskey, type Passkey, sha256 } from './passkey.ts';
import { addWithPassword, IP, type PeopleRig, peopleRig } from './people-rig.ts';

const ORIGIN = 'https://payrun.example.com';

const server = await useTestRedis();
let rig: PeopleRig;
beforeEach(async () => {
  rig = await peopleRig(server.redis);
  await addWithPassword(rig, 'anna', 'admin');
});

interface Answered {
  readonly challenge: string;
  readonly origin?: string;
  readonly host?: string;
  readonly count?: number;
}

function answerOf({ id, key }: Passkey, { challenge, origin = ORIGIN, host, count = 5 }: Answered): string {
  const clientData = Buffer.from(JSON.stringify({ type: 'webauthn.get', challenge, origin, crossOrigin: false }));
  const isPresent = Buffer.of(1);
  const counter = Buffer.alloc(4);
  counter.writeUInt32BE(count);
  const authenticatorData = Buffer.concat([sha256(host ?? new URL(origin).hostname), isPresent, counter]);
  const signature = sign('sha256', Buffer.concat([authenticatorData, sha256(clientData)]), key);
  return JSON.stringify({
    id,
    clientDataJSON: base64url(clientData),
    authenticatorData: base64url(authenticatorData),
    signature: base64url(signature),
  });
}

const withChallenge = z.looseObject({ challenge: z.string() });

async function challenged(): Promise<string> {
  return withChallenge.parse(await passkeyChallenge(rig, { name: 'anna', origin: ORIGIN })).challenge;
}

const prove = async (code: string): Promise<string> =>
  (await proveFactor(rig, { name: 'anna', code, ip: IP, origin: ORIGIN })).kind;

describe('the answer of a passkey', () => {
  test('proves its user once, and is on the audit log', async () => {
    const passkey = await givePasskey(rig.ledger, 'anna');
    const answer = answerOf(passkey, { challenge: await challenged() });
    expect(await prove(answer)).toBe('proven');
    expect(await prove(answer)).toBe('refused');
    expect(await rig.acts('user.passkey-used')).toMatchObject([{ actor: 'anna', target: 'user anna' }]);
  });

  test.each<[why: string, answered: Omit<Answered, 'challenge'>]>([
    ['was asked for by a page that looks like ours', { origin: 'https://payrun-example.com' }],
    ['was asked for by another page of the same host', { origin: 'http://payrun.example.com' }],
    ['is one for another host', { host: 'example.com' }],
    ['counts no further than was seen', { count: 4 }],
  ])('is refused when it %s', async (_, answered) => {
    const passkey = await givePasskey(rig.ledger, 'anna');
    expect(await prove(answerOf(passkey, { challenge: await challenged(), ...answered }))).toBe('refused');
    expect(await prove(answerOf(passkey, { challenge: await challenged() }))).toBe('proven');
  });

  test('is refused to a challenge that was not the last, by another key, and as anything else', async () => {
    const passkey = await givePasskey(rig.ledger, 'anna');
    const first = await challenged();
    await challenged();
    expect(await prove(answerOf(passkey, { challenge: first }))).toBe('refused');
    const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    expect(await prove(answerOf({ ...passkey, key }, { challenge: await challenged() }))).toBe('refused');
    for (const answer of ['{', '{}', '{"id":1}']) {
      await challenged();
      expect(await prove(answer)).toBe('refused');
    }
  });

  test('is asked of nobody who has none, and a code of six digits is none', async () => {
    expect(await passkeyChallenge(rig, { name: 'anna', origin: ORIGIN })).toBeUndefined();
    await givePasskey(rig.ledger, 'anna');
    expect(await prove('123456')).toBe('refused');
  });
});

/** A session of anna, who has given her second factor in it. */
const session = async (): Promise<string> => (await renewSession(rig, await startSession(rig, 'anna'))) ?? '';
const remove = async (id: string, passkey: string, mayBeNone = false) =>
  await removePasskey(rig, { id, name: 'anna', ip: IP, passkey, mayBeNone });

describe('a passkey that its user takes away', () => {
  test('proves nobody any more, ends the other sessions, and is on the audit log; the other one goes on', async () => {
    const [lost, kept] = [await givePasskey(rig.ledger, 'anna', 'lost'), await givePasskey(rig.ledger, 'anna', 'kept')];
    const [own, other] = [await session(), await session()];
    const id = (await remove(own, lost.id)) ?? '';
    expect(await findSession(rig, id)).toMatchObject({ name: 'anna', hasFactor: true });
    expect([await findSession(rig, own), await findSession(rig, other)]).toEqual([undefined, undefined]);
    expect(await ownFactor(rig, 'anna')).toMatchObject({ passkeys: [{ id: kept.id }] });
    expect(await prove(answerOf(lost, { challenge: await challenged() }))).toBe('refused');
    expect(await prove(answerOf(kept, { challenge: await challenged() }))).toBe('proven');
    expect(await rig.acts('user.passkey-removed')).toMatchObject([{ actor: 'anna', target: 'user anna' }]);
    expect(await remove(id, lost.id)).toBeUndefined();
  });

  test('is not the last thing that they have where a second factor is required', async () => {
    const { id: passkey } = await givePasskey(rig.ledger, 'anna');
    const own = await session();
    await expect(remove(own, passkey)).rejects.toThrow('your only second factor');
    expect(await ownFactor(rig, 'anna')).toMatchObject({ passkeys: [{ id: passkey }] });
    const id = (await remove(own, passkey, true)) ?? '';
    expect(await ownFactor(rig, 'anna')).toBeUndefined();
    expect(await findSession(rig, id)).toMatchObject({ name: 'anna', hasFactor: false });
  });
});
