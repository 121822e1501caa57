import { z } from 'zod';
import { answering, type Decision, jsonAnswer } from './answers.ts';
import { errorAnswer } from './errors.ts';
import { IDENTITY_TYPES, identityBody } from './identities.ts';
import type { Call } from './realm.ts';

const identityTypeParameter = z.enum(IDENTITY_TYPES).optional();

/**
 * `GET /v2/identities`: 200 with what matches, 404 USR_103 when nothing does. A sandbox that takes
 * any identity says with an empty list that it knows none before it is used.
 */
export function decideIdentities(call: Call, query: URLSearchParams): Decision {
  const { now, realm, switches } = call;
  const identityType = identityTypeParameter.safeParse(query.get('identityType') ?? undefined);
  if (!identityType.success) {
    const descriptions = [`identityType: one of ${IDENTITY_TYPES.join(', ')}`];
    return answering(errorAnswer({ code: 'USR_101', descriptions, now }));
  }
  const filter = { identityType: identityType.data, nickName: query.get('nickName') ?? undefined };
  const matching = realm.identities.list(filter, switches.identitiesAnsweredMax);
  if (matching.length === 0 && !switches.acceptsAnyIdentity) {
    return answering(errorAnswer({ code: 'USR_103', descriptions: ['no identity matches'], now }));
  }
  return answering(jsonAnswer(200, { data: matching.map(identityBody) }));
}
