import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto';
import { z } from 'zod';
import type { Random } from '../clock.ts';
import type { ServiceSettings } from '../config/config.ts';

/** An access token and how long it is good for, in milliseconds since 1970. */
export interface HeldToken {
  readonly token: string;
  /** From here on a new one is asked for. */
  readonly freshUntil: number;
  /** From here on the service refuses it. */
  readonly endsAt: number;
}

export interface Seal {
  seal(held: HeldToken): Uint8Array;
  /** Undefined for what was not sealed under these credentials. */
  open(sealed: Uint8Array): HeldToken | undefined;
}

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;
const KEY_BYTES = 32;

const heldSchema = z.object({ token: z.string().min(1), freshUntil: z.number(), endsAt: z.number() });

/**
 * Encryption of the shared token: AES-256-GCM under a key derived from the client secret by HKDF-SHA-256 (RFC 5869),
 * bound to address, tenant, client id and audience. Layout: version, nonce, tag, ciphertext.
 */
export function openSeal(settings: ServiceSettings, random: Random): Seal {
  const bound = JSON.stringify([settings.url, settings.tenantId, settings.clientId, settings.audience]);
  // Hashed, for HKDF takes no more than 1,024 bytes of info here.
  const info = createHash('sha256').update(bound).digest();
  const key = Buffer.from(hkdfSync('sha256', settings.clientSecret, 'payrun access token', info, KEY_BYTES));
  return {
    seal(held) {
      const nonce = random.bytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const text = Buffer.concat([cipher.update(JSON.stringify(held), 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), text]);
    },
    open(sealed) {
      if (sealed.length <= HEAD_BYTES || sealed[0] !== VERSION) return undefined;
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEAD_BYTES));
      try {
        const text = Buffer.concat([decipher.update(sealed.subarray(HEAD_BYTES)), decipher.final()]);
        return heldSchema.parse(JSON.parse(text.toString('utf8')));
      } catch {
        return undefined;
      }
    },
  };
}
