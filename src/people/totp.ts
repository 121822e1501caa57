import { Secret, TOTP } from 'otpauth';
import type { Random } from '../clock.ts';

/** What all authenticator apps understand (RFC 6238, and the defaults of their key URIs). */
const SHAPE = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** RFC 4226, section 4: 160 bits are recommended. */
const SECRET_BYTES = 20;
/** A clock may be so many periods off, either way (RFC 6238, section 5.2). */
const PERIODS_OFF_MAX = 1;

/** A new secret for an authenticator app, in base32. */
export function newTotpSecret(random: Pick<Random, 'bytes'>): string {
  return new Secret({ buffer: Uint8Array.from(random.bytes(SECRET_BYTES)).buffer }).base32;
}

/** What an app reads from a QR code. */
export function totpUri(secret: string, { issuer, name }: { readonly issuer: string; readonly name: string }): string {
  return new TOTP({ ...SHAPE, issuer, label: name, secret: Secret.fromBase32(secret) }).toString();
}

/** The period for which a code of six digits holds at this time (milliseconds since 1970); undefined for a wrong one. */
export function totpPeriod(secret: string, code: string, now: number): number | undefined {
  const totp = new TOTP({ ...SHAPE, secret: Secret.fromBase32(secret) });
  const off = totp.validate({ token: code, timestamp: now, window: PERIODS_OFF_MAX });
  return off === null ? undefined : Math.floor(now / (SHAPE.period * 1000)) + off;
}
