import { type ErrorEntry, parseErrors } from '../service/replies.ts';

/** How the service put a refusal. */
export interface RefusedAs {
  /** The service's code, or `HTTP_<status>` when its body names none. */
  readonly code: string;
  readonly reason: string;
  /** The codes of all errors that the answer names. */
  readonly codes: readonly (string | null)[];
  /** Whether the answer had an error body that we could read. */
  readonly isExplained: boolean;
  /** Concerns all payouts of the run: no balance or a limit (402), no permission (403), a wrong configuration (CFG_). */
  readonly isRunWide: boolean;
}

/** What the service wrote of an error for people: its description, else the title of its code. */
export function wordsOf(error: Pick<ErrorEntry, 'title' | 'description'> | undefined): string | null {
  return error?.description ?? error?.title ?? null;
}

/** Reads a refusal of any shape. `request` names the request for people. */
export function readRefused(answer: { status: number; json: unknown }, request: string): RefusedAs {
  const errors = parseErrors(answer.json);
  const [error] = errors;
  const code = error?.code ?? `HTTP_${answer.status}`;
  return {
    code,
    reason: wordsOf(error) ?? `the service answered ${answer.status} to a ${request} request`,
    codes: errors.map((entry) => entry.code),
    isExplained: error !== undefined,
    isRunWide: answer.status === 402 || answer.status === 403 || code.startsWith('CFG_'),
  };
}

/** Why a run is paused that meets a certificate which does not verify; `reason` as the client names it, such as `TLS CERT_HAS_EXPIRED`. */
export function badCertificate(reason: string): { code: string; reason: string } {
  return { code: 'E_CERTIFICATE', reason: `the service's certificate does not verify (${reason})` };
}
