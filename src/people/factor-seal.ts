import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { foldedName } from '../access/same-person.ts';
import type { Random } from '../clock.ts';
import type { LedgerKeySource } from '../ledger-key.ts';
import { Refusal } from '../refusal.ts';

/** Keeps secrets of authenticator apps from who reads Redis. */
export interface FactorSeal {
  seal(name: string, secret: string): string;
  /** Throws a Refusal (unavailable) for what was sealed by a key that is not among these, or for somebody else. */
  open(name: string, sealed: string): string;
}

const MARK = 'sealed';
const KEY_BYTES = 32;
const ID_BYTES = 4;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM under keys that are derived by HKDF-SHA-256 (RFC 5869) from the lines of PAYRUN_LEDGER_KEY, or from the client
 * secret: the first one seals, all open. Bound to the user, so that nobody's secret can be put in another's place. Layout:
 * `sealed`, the key's id (8 hex digits) and nonce, tag and ciphertext in base64url, with points between. Without a key, as
 * with payrun's own sandbox, a secret stays as it is, and one that was kept so is read with a key, too.
 */
export function openFactorSeal({ ledgerKey, service }: LedgerKeySource, random: Pick<Random, 'bytes'>): FactorSeal {
  const lines = ledgerKey ?? (service === undefined ? [] : [service.clientSecret]);
  const keys = lines.map(keyOf);
  const [first] = keys;
  return {
    seal(name, secret) {
      if (first === undefined) return secret;
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', first.key, nonce).setAAD(Buffer.from(foldedName(name)));
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
      return [MARK, first.id, Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')].join('.');
    },
    open(name, sealed) {
      const [mark, id, body = ''] = sealed.split('.');
      if (mark !== MARK) return sealed;
      const known = keys.find((key) => key.id === id);
      if (known === undefined) throw refuseSealed(name);
      try {
        return opened(known.key, name, Buffer.from(body, 'base64url'));
      } catch (error) {
        throw refuseSealed(name, error);
      }
    },
  };
}

function keyOf(line: string): { readonly id: string; readonly key: Buffer } {
  const derived = Buffer.from(hkdfSync('sha256', line, 'payrun ledger key', 'second factor', KEY_BYTES + ID_BYTES));
  return { key: derived.subarray(0, KEY_BYTES), id: derived.subarray(KEY_BYTES).toString('hex') };
}

function opened(key: Buffer, name: string, bytes: Buffer): string {
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(foldedName(name)));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
}

function refuseSealed(name: string, cause?: unknown): Refusal {
  return new Refusal(
    `The second factor of ${name} cannot be read with the keys of this process.`,
    'Put the former key on a later line of PAYRUN_LEDGER_KEY_FILE, or let two admins take the second factor away.',
    { kind: 'unavailable', cause },
  );
}
