import { z } from 'zod';
import { answering, type Decision, jsonAnswer } from '../answers.ts';
import { descriptionsOf, oauthErrorAnswer } from '../errors.ts';
import type { Switches } from '../faults/switches.ts';
import type { Call } from '../realm.ts';
import { SCOPES } from './tokens.ts';

const SECOND_MS = 1000;

/** The request of interface page, section 2.2. */
const tokenRequest = z.object({
  grant_type: z.literal('client_credentials'),
  client_id: z.string().min(1).max(200),
  client_secret: z.string().min(1).max(200),
  audience: z.string().min(1).max(200),
});

/**
 * `POST /v2/oauth/token` (interface page, section 5 rules 3 and 4): 200 with a token; 400 `invalid_request` for a body
 * of another shape, 401 `access_denied` for credentials that are unknown, revoked or wrong, 403 for another audience.
 */
export function decideToken(call: Call, body: unknown): Decision {
  const { realm, switches } = call;
  const parsed = tokenRequest.safeParse(body);
  if (!parsed.success) {
    return answering(oauthErrorAnswer(400, 'invalid_request', descriptionsOf(parsed.error).join('; ')));
  }
  const { client_id: clientId, client_secret: clientSecret, audience } = parsed.data;
  if (!realm.credentials.accepts(clientId, clientSecret)) {
    return answering(oauthErrorAnswer(401, 'access_denied', 'client_id or client_secret is wrong'));
  }
  if (audience !== realm.audience) {
    const description = `audience does not name this tenant in the ${realm.environment} environment`;
    return answering(oauthErrorAnswer(403, 'access_denied', description));
  }
  return {
    async answer() {
      const { token, lifeSeconds } = await realm.tokens.issue(clientId, switches.tokenLifeMs);
      const expiresIn = EXPIRES_IN[switches.tokenExpiresIn](lifeSeconds);
      const granted = { access_token: token, expires_in: expiresIn, token_type: 'Bearer', scope: SCOPES };
      return jsonAnswer(200, granted, { 'Cache-Control': 'no-store' });
    },
  };
}

/** What a reply says of the token's life, by the switch; undefined leaves it out. */
const EXPIRES_IN: Readonly<Record<Switches['tokenExpiresIn'], (lifeSeconds: number) => number | undefined>> = {
  right: (lifeSeconds) => lifeSeconds,
  'too-long': (lifeSeconds) => 10 * lifeSeconds,
  zero: () => 0,
  missing: () => undefined,
};

/** `GET /v2/oauth/token/test` (interface page, section 2.4). */
export function decideTokenTest({ now, token }: Call): Decision {
  const seconds = Math.max(0, Math.floor((token?.expiresAtSeconds ?? 0) - now / SECOND_MS));
  return answering(jsonAnswer(200, { message: 'token_ok', seconds_to_expiry: seconds }));
}

/** The token of a header `Authorization: Bearer <token>`, word and single space as written (interface page, section 5 rule 2). */
export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer ([A-Za-z0-9._~+/-]+=*)$/.exec(header ?? '')?.[1];
}
