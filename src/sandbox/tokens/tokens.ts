import { errors, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import type { Sources } from './credentials.ts';

/** The scopes of interface page, section 2.3. */
export const SCOPES = 'keys:read keys:write payments:create quotes:create identities:create audit:read';

const PADDING_BYTES_MAX = 200;
const TOKENS_REMEMBERED_MAX = 1000;
const ALGORITHM = 'HS256';
const SECOND_MS = 1000;

const claims = z.object({ sub: z.string(), exp: z.int(), iat: z.int(), issuedAtMs: z.int().optional() });

export interface TokenClaims {
  /** The credential that asked for the token. */
  readonly clientId: string;
  /** Seconds since 1970. */
  readonly expiresAtSeconds: number;
  /** Milliseconds since 1970. */
  readonly issuedAt: number;
}

export interface Tokens {
  /** A signed JWT whose length differs from one to the next (interface page, section 2.3), and its life in seconds. */
  issue(clientId: string, lifeMs: number): Promise<{ token: string; lifeSeconds: number }>;
  /** What a token says; undefined if it is not ours, of another environment or tenant, altered, or expired. */
  read(token: string): Promise<TokenClaims | undefined>;
}

export interface TokenOptions extends Sources {
  readonly signingKey: Uint8Array;
  /** `urn:servicexcurrent-<environment>:<tenant>` (interface page, section 5 rule 4). */
  readonly audience: string;
}

export function openTokens({ signingKey, audience, clock, random }: TokenOptions): Tokens {
  // The signature of a token is checked once; its end at every use.
  const verified = new Map<string, TokenClaims>();

  async function verify(token: string): Promise<TokenClaims | undefined> {
    try {
      const currentDate = new Date(clock.now());
      const { payload } = await jwtVerify(token, signingKey, { audience, algorithms: [ALGORITHM], currentDate });
      const { sub, exp, iat, issuedAtMs = iat * SECOND_MS } = claims.parse(payload);
      return { clientId: sub, expiresAtSeconds: exp, issuedAt: issuedAtMs };
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  }

  return {
    async issue(clientId, lifeMs) {
      const issuedAtMs = clock.now();
      const issuedAt = Math.floor(issuedAtMs / SECOND_MS);
      const lifeSeconds = Math.floor(lifeMs / SECOND_MS);
      const padding = random.bytes(Math.floor(random.fraction() * PADDING_BYTES_MAX)).toString('base64url');
      const token = await new SignJWT({ scope: SCOPES, padding, issuedAtMs })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
        .setSubject(clientId)
        .setAudience(audience)
        .setJti(random.uuid())
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + lifeSeconds)
        .sign(signingKey);
      return { token, lifeSeconds };
    },
    async read(token) {
      const known = verified.get(token) ?? (await verify(token));
      if (known === undefined) return undefined;
      if (verified.size >= TOKENS_REMEMBERED_MAX) verified.clear();
      verified.set(token, known);
      return known.expiresAtSeconds * SECOND_MS > clock.now() ? known : undefined;
    },
  };
}
