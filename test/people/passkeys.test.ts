import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type StoredUser, userField } from '../../src/ledger/people/people.ts';
import { passkeyChallenge } from '../../src/people/passkeys.ts';
import { proveFactor } from '../../src/people/second-factor.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { addWithPassword, IP, type PeopleRig, peopleRig } from './people-rig.ts';

const ORIGIN = 'https://payrun.example.com';

let server: TestRedis;
let rig: PeopleRig;
beforeAll(async () => {
  server = await startTestRedis();
});
afterAll(async () => {
  await server.stop();
});
beforeEach(async () => {
  rig = await peopleRig(server.redis);
  await addWithPassword(rig, 'anna', 'admin');
});

const text = (buffer: Buffer): string => buffer.toString('base64url');
const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();

interface Passkey {
  readonly id: string;
  readonly key: KeyObject;
}

/** Gives anna a passkey, as if a browser had made it. */
async function givePasskey(): Promise<Passkey> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  // The public key of ES256 in the form of COSE (RFC 9053, section 7.1.1).
  const head = [Buffer.from('a5010203262001215820', 'hex'), Buffer.from('225820', 'hex')] as const;
  const cose = Buffer.concat([head[0], Buffer.from(x, 'base64url'), head[1], Buffer.from(y, 'base64url')]);
  const id = text(Buffer.from('passkey-of-anna'));
  const { version, users } = await rig.ledger.people.read();
  const [anna] = users;
  if (anna === undefined) throw new Error('there is no anna');
  const passkeys = [{ id, publicKey: text(cose), counter: 4, since: 1 }];
  const user: StoredUser = { ...anna, factor: { secret: null, recovery: [], since: 1, passkeys } };
  const act = { actor: 'anna', action: 'user.passkey-added', target: 'user anna', details: {} };
  await rig.ledger.people.change({ version, act, fields: userField(user) });
  return { id, key: privateKey };
}

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
    clientDataJSON: text(clientData),
    authenticatorData: text(authenticatorData),
    signature: text(signature),
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
    const passkey = await givePasskey();
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
    const passkey = await givePasskey();
    expect(await prove(answerOf(passkey, { challenge: await challenged(), ...answered }))).toBe('refused');
    expect(await prove(answerOf(passkey, { challenge: await challenged() }))).toBe('proven');
  });

  test('is refused to a challenge that was not the last, by another key, and as anything else', async () => {
    const passkey = await givePasskey();
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
    await givePasskey();
    expect(await prove('123456')).toBe('refused');
  });
});
