import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';

/** The public half of a key that signs reports. */
export interface PublicKey {
  /** SHA-256 of the key in DER form (SubjectPublicKeyInfo), in lower-case hex. */
  readonly id: string;
  /** SubjectPublicKeyInfo in PEM form, ending with a line end. */
  readonly pem: string;
  /** Whether the signature (base64) is of this key over the UTF-8 bytes of the text. */
  verifies(text: string, signature: string): boolean;
}

/** A key that signs reports (Ed25519, RFC 8032). It is not a key by which programs use payrun. */
export interface SigningKey extends PublicKey {
  /** The signature over the UTF-8 bytes of the text, in base64. */
  sign(text: string): string;
}

/** A new private key in PEM form (PKCS #8). */
export function makeSigningKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  return privateKey;
}

/** Throws what Node says of a text that is no private key in PEM form. */
export function openSigningKey(privatePem: string): SigningKey {
  const key = createPrivateKey(privatePem);
  return {
    ...publicKeyOf(createPublicKey(key)),
    sign: (text) => sign(null, Buffer.from(text), key).toString('base64'),
  };
}

/** The public keys of a text, one PEM block each; none where a block is no Ed25519 public key. */
export function readPublicKeys(text: string): readonly PublicKey[] {
  const blocks = text.split(/^(?=-----BEGIN )/m).filter((block) => block.startsWith('-----BEGIN PUBLIC KEY-----'));
  try {
    const keys = blocks.map((block) => createPublicKey(block));
    return keys.every(({ asymmetricKeyType }) => asymmetricKeyType === 'ed25519') ? keys.map(publicKeyOf) : [];
  } catch {
    return [];
  }
}

function publicKeyOf(key: KeyObject): PublicKey {
  const der = key.export({ type: 'spki', format: 'der' });
  return {
    id: createHash('sha256').update(der).digest('hex'),
    pem: key.export({ type: 'spki', format: 'pem' }).toString(),
    verifies: (text, signature) => verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64')),
  };
}
