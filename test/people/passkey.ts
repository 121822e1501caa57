import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { userField } from '../../src/ledger/people/people.ts';

export interface Passkey {
  readonly id: string;
  readonly key: KeyObject;
}

export const base64url = (buffer: Buffer): string => buffer.toString('base64url');
export const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();

/** Gives somebody a passkey, as if a browser had made it. */
export async function givePasskey({ people }: Pick<Ledger, 'people'>, name: string, label = 'one'): Promise<Passkey> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  // The public key of ES256 in the form of COSE (RFC 9053, section 7.1.1).
  const head = [Buffer.from('a5010203262001215820', 'hex'), Buffer.from('225820', 'hex')] as const;
  const cose = Buffer.concat([head[0], Buffer.from(x, 'base64url'), head[1], Buffer.from(y, 'base64url')]);
  const id = base64url(Buffer.from(`passkey ${label} of ${name}`));
  const { version, users } = await people.read();
  const user = users.find((one) => one.name === name);
  if (user === undefined) throw new Error(`there is no ${name}`);
  const factor = user.factor ?? { secret: null, recovery: [], since: 1, passkeys: [] };
  const passkeys = [...factor.passkeys, { id, publicKey: base64url(cose), counter: 4, since: 1 }];
  const act = { actor: name, action: 'user.passkey-added', target: `user ${name}`, details: {} };
  await people.change({ version, act, fields: userField({ ...user, factor: { ...factor, passkeys } }) });
  return { id, key: privateKey };
}
