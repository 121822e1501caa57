import type { z } from 'zod';
import { rfc3339 } from '../clock.ts';
import { type Answer, jsonAnswer } from './answers.ts';

interface ErrorKind {
  readonly status: number;
  readonly type: 'AUTH_ERROR' | 'USER_ERROR' | 'NOT_FOUND' | 'SYSTEM_ERROR';
  readonly title: string;
}

/** Codes of service-facts, section 7. AUTH_001 is our choice: no code for a refused token is known. */
const ERRORS = {
  USR_001: { status: 400, type: 'USER_ERROR', title: 'Bad request' },
  USR_002: { status: 404, type: 'NOT_FOUND', title: 'Resource not found' },
  USR_003: { status: 400, type: 'USER_ERROR', title: 'User error' },
  USR_011: { status: 404, type: 'USER_ERROR', title: 'Quote not found' },
  USR_013: { status: 400, type: 'USER_ERROR', title: 'Quote amount too small' },
  USR_014: { status: 400, type: 'USER_ERROR', title: 'Wrong pay-in category' },
  USR_015: { status: 400, type: 'USER_ERROR', title: 'Wrong payout category' },
  USR_101: { status: 400, type: 'USER_ERROR', title: 'Bad identity request' },
  USR_103: { status: 404, type: 'NOT_FOUND', title: 'Identity not found' },
  AUTH_001: { status: 401, type: 'AUTH_ERROR', title: 'Unauthorised' },
  SYS_001: { status: 500, type: 'SYSTEM_ERROR', title: 'Internal error' },
} as const satisfies Record<string, ErrorKind>;
export type ErrorCode = keyof typeof ERRORS;

export interface ErrorDetails {
  readonly code: ErrorCode;
  /** One entry of the body's `errors` each. */
  readonly descriptions: readonly string[];
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Where it is not the code's own. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal in the current form of service-facts, section 7: `{status, errors: [{code, type, title, …}]}`. */
export function errorAnswer(details: ErrorDetails): Answer {
  const { type, title } = ERRORS[details.code];
  const status = details.status ?? ERRORS[details.code].status;
  const timestamp = rfc3339(details.now);
  const errors = details.descriptions.map((description) => ({
    code: details.code,
    type,
    title,
    description,
    timestamp,
  }));
  return jsonAnswer(status, { status, errors }, details.headers);
}

export type OauthError = 'invalid_request' | 'access_denied';

/** A refusal of the token request: `{error, error_description}` (service-facts, section 8). */
export function oauthErrorAnswer(status: number, error: OauthError, description: string): Answer {
  return jsonAnswer(status, { error, error_description: description }, { 'Cache-Control': 'no-store' });
}

/** What a schema found wrong, one sentence each, led by the field. */
export function descriptionsOf(error: z.ZodError): string[] {
  return error.issues.map((issue) =>
    issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`,
  );
}
