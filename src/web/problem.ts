import { isRedisLoss } from '../redis/loss.ts';
import { Refusal } from '../refusal.ts';

/** What a request is answered with when it cannot be done, as people and programs may see it (RFC 9457). */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: number;
  readonly remedy: string;
  /** What is wrong with which fields of a form, as sentences, by their names. */
  readonly fields: Readonly<Record<string, string>>;

  // oxlint-disable-next-line eslint/max-params -- the fields are for forms alone
  constructor(status: number, message: string, remedy: string, fields: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.remedy = remedy;
    this.fields = fields;
  }
}

/** Members of a problem document (RFC 9457, section 3); `remedy` and `requestId` are extensions of ours. */
export interface ProblemDocument {
  readonly type: 'about:blank';
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly remedy: string;
  readonly requestId: string;
}

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  421: 'Misdirected Request',
  422: 'Unprocessable Content',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** What a client did wrong before anybody looked at what it means. */
const CLIENT_FAULTS: Readonly<Record<number, string>> = {
  400: 'The address, or what was sent, is not as it should be.',
  408: 'What was sent did not arrive in time.',
  413: 'What was sent is too large.',
  415: 'What was sent is of a kind that is not taken here.',
};

/** A fault as whoever asked may know it: what is ours alone says nothing of itself (S34). */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof Refusal) return new Problem(statusOf(error), error.message, error.remedy);
  if (isRedisLoss(error)) {
    return new Problem(
      503,
      'Redis, which holds the ledger, went away or cannot work now.',
      'Wait a moment, look whether what you sent was done, and try again; if it stays, tell whoever runs payrun.',
    );
  }
  const status = clientStatus(error);
  if (status !== undefined && error instanceof Error) {
    return new Problem(
      status,
      CLIENT_FAULTS[status] ?? 'What was asked for could not be read.',
      'Go back, and try again with what the page or the documentation asks for.',
    );
  }
  return new Problem(
    500,
    'Something went wrong here.',
    'Try again; if it stays, tell whoever runs payrun the request id.',
  );
}

function titleOf(status: number): string {
  return TITLES[status] ?? 'Error';
}

export function problemDocument({ status, message, remedy }: Problem, requestId: string): ProblemDocument {
  return { type: 'about:blank', title: titleOf(status), status, detail: message, remedy, requestId };
}

function statusOf({ kind }: Refusal): number {
  if (kind === 'unavailable') return 503;
  return kind === 'fileRefused' ? 422 : 409;
}

/** The status that fastify gives to what a client did wrong. */
function clientStatus(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('statusCode' in error)) return undefined;
  const { statusCode } = error;
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 ? statusCode : undefined;
}
