import type { HistoryEntry, Payout } from '../../src/payout.ts';
import type { Answer } from '../../src/service/answer.ts';
import { READY } from '../support/payout-row.ts';

export const QUOTE_ID = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
export const NOW = Date.parse('2026-03-03T10:00:00Z');
export const EXPIRES_AT = NOW + 20_000;

/** An unknown payout that was sent under the credentials `cred`, with changes. */
export function payoutOf(changes: Partial<Payout> = {}): Payout {
  return {
    ...READY,
    version: 3,
    state: 'unknown',
    quoteId: QUOTE_ID,
    quoteExpiresAt: EXPIRES_AT,
    attempts: 1,
    armings: 1,
    quotes: 1,
    armingCounter: 1,
    armedBy: 'owner-1',
    armedAt: NOW,
    credentials: 'cred',
    sentAt: NOW,
    history: [entry('ready', NOW - 1000), entry('armed', NOW), entry('unknown', NOW + 1000)],
    ...changes,
  };
}

export function entry(to: HistoryEntry['to'], at: number): HistoryEntry {
  return { to, at, actor: 'owner-1', reason: '', exchange: '' };
}

/** A response that was read to its end, with the date NOW unless told. */
export function answered(status: number, json?: unknown, date: number | null = NOW): Answer {
  return { kind: 'answered', status, date, retryAfter: null, json, requestId: null };
}

/** What a gateway answers in the place of the service. */
export function page(status: number): Answer {
  return { kind: 'answered', status, date: NOW, retryAfter: null, json: undefined, isPage: true, requestId: null };
}

export function lost(reason: string, status: number | null = null): Answer {
  return { kind: 'lost', reason, status };
}

export function notSent(reason: string, certificate = false): Answer {
  return { kind: 'not-sent', reason, certificate };
}

/** The error body of service-facts section 7 in its current form. */
export function errors(...codes: string[]): object {
  return { status: 400, errors: codes.map((code) => ({ code, type: 'USER_ERROR', title: `title of ${code}` })) };
}
