import type { z } from 'zod';
import { rfc3339 } from '../clock.ts';
import { type Answer, jsonAnswer } from './answers.ts';

interface ErrorKind {
  readonly status: number;
  readonly type: 'AUTH_ERROR' | 'USER_ERROR' | 'NOT_FOUND' | 'SYSTEM_ERROR';
  readonly title: string;
}

/** Codes that the service documents. AUTH_001 is our choice: no code for a refused token is known. */
const ERRORS = {
  USR_001: { status: 400, type: 'USER_ERROR', title: 'Bad request' },
  USR_002: { status: 404, type: 'NOT_FOUND', title: 'Resource not found' },
  USR_003: { status: 400, type: 'USER_ERROR', title: 'User error' },
  USR_011: { status: 404, type: 'USER_ERROR', title: 'Quote not found' },
  USR_013: { status: 400, type: 'USER_ERROR', title: 'Quote amount too small' },
  USR_014: { status: 400, type: 'USER_ERROR', title: 'Wrong pay-in category' },
  USR_015: { status: 400, type: 'USER_ERROR', title: 'Wrong payout category' },
  USR_062: { status: 402, type: 'USER_ERROR', title: 'Number of transactions in 24 hours reached' },
  USR_064: { status: 402, type: 'USER_ERROR', title: 'Credit limit reached' },
  USR_066: { status: 402, type: 'USER_ERROR', title: 'Past-due invoice' },
  USR_067: { status: 402, type: 'USER_ERROR', title: 'Insufficient balance' },
  USR_101: { status: 400, type: 'USER_ERROR', title: 'Bad identity request' },
  USR_103: { status: 404, type: 'NOT_FOUND', title: 'Identity not found' },
  USR_169: { status: 400, type: 'USER_ERROR', title: 'Destination account not found' },
  AUTH_001: { status: 401, type: 'AUTH_ERROR', title: 'Unauthorised' },
  SYS_001: { status: 500, type: 'SYSTEM_ERROR', title: 'Internal error' },
} as const satisfies Record<string, ErrorKind>;
export type ErrorCode = keyof typeof ERRORS;

/** What a 402 may say; the first unless it is switched. */
export const PAYMENT_REQUIRED_CODES = ['USR_067', 'USR_062', 'USR_064', 'USR_066'] as const;
/** What a FAILED payment may show: the codes of a 402 come here too. */
export const FAILURE_CODES = ['USR_169', ...PAYMENT_REQUIRED_CODES] as const;

/** The error that a FAILED payment shows, but for its time. */
export function failureOf(code: (typeof FAILURE_CODES)[number]): { code: string; type: string; title: string } {
  const { type, title } = ERRORS[code];
  return { code, type, title };
}

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

/** A refusal in the current form: `{status, errors: [{code, type, title, …}]}`. */
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

/** A refusal of the token request: `{error, error_description}`. */
export function oauthErrorAnswer(status: number, error: OauthError, description: string): Answer {
  return jsonAnswer(status, { error, error_description: description }, { 'Cache-Control': 'no-store' });
}

/** What a schema found wrong, one sentence each, led by the field. */
export function descriptionsOf(error: z.ZodError): string[] {
  return error.issues.map((issue) =>
    issue.path.length === 0 ? issue.message : `${issue.path.join('.')}: ${issue.message}`,
  );
}
