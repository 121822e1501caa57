import { createHmac, timingSafeEqual } from 'node:crypto';

/** How far a receiver's clock may be from ours. */
const TOLERANCE_MS = 5 * 60 * 1000;
const SIGNATURES_MAX = 4;

/** `t=<unix s>,v1=<hex HMAC-SHA256 of "t.body">`, with a `v1` for each secret. */
export function signatureOf(body: string, secrets: readonly string[], nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000);
  return [`t=${seconds}`, ...secrets.map((secret) => `v1=${hmacOf(secret, seconds, body).toString('hex')}`)].join(',');
}

export type SignatureVerdict = 'valid' | 'malformed' | 'other-secret' | 'too-old';

/** What a receiver does: whether one of its secrets signed this very body, and not long ago. */
export function verifySignature(
  { header, body }: { header: string; body: string },
  { secrets, nowMs, toleranceMs = TOLERANCE_MS }: { secrets: readonly string[]; nowMs: number; toleranceMs?: number },
): SignatureVerdict {
  const [time = '', ...parts] = header.split(',');
  const seconds = Number.parseInt(/^t=([0-9]{1,12})$/.exec(time)?.[1] ?? '', 10);
  const given = parts.map((part) => /^v1=([0-9a-f]{64})$/.exec(part)?.[1]);
  if (Number.isNaN(seconds) || given.length === 0 || given.length > SIGNATURES_MAX) return 'malformed';
  const isOurs = given.some((hex) =>
    secrets.some((secret) => hex !== undefined && isSame(hmacOf(secret, seconds, body), Buffer.from(hex, 'hex'))),
  );
  if (!isOurs) return 'other-secret';
  return Math.abs(nowMs - seconds * 1000) > toleranceMs ? 'too-old' : 'valid';
}

function hmacOf(secret: string, seconds: number, body: string): Buffer {
  return createHmac('sha256', secret).update(`${seconds}.${body}`).digest();
}

function isSame(one: Buffer, other: Buffer): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
