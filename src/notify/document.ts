import { rfc3339, timeOrNull } from '../clock.ts';
import type { DeadLetter, EndpointState } from '../ledger/outbox.ts';
import { readNotification } from './notification.ts';

/** An endpoint of notifications as every door gives it as JSON. */
export interface EndpointDocument {
  readonly name: string;
  /** By this process's settings. */
  readonly configured: boolean;
  readonly waiting: number;
  readonly nextTryAt: string | null;
  readonly lastFailure: string | null;
  readonly deadLetters: readonly LetterDocument[];
  readonly deadLettersDropped: number;
}

/** A notification that was given up. */
interface LetterDocument {
  readonly id: string;
  readonly event: string;
  readonly runId: string | null;
  readonly at: string;
  readonly givenUpAt: string;
  readonly reason: string;
}

/** All endpoints: those that are configured, whether they got anything or not, and those for which something is kept. */
export function endpointDocuments(
  known: readonly EndpointState[],
  configured: readonly { readonly name: string }[],
): EndpointDocument[] {
  const names = configured.map(({ name }) => name);
  const unheard = names.filter((name) => !known.some((one) => one.name === name)).map(unheardEndpoint);
  return [...known, ...unheard].map((endpoint) => endpointDocument(endpoint, names));
}

/** An endpoint that got nothing yet. */
function unheardEndpoint(name: string): EndpointState {
  return { name, waiting: 0, nextAt: null, reason: null, deadLetters: [], lost: 0 };
}

function endpointDocument(
  { name, waiting, nextAt, reason, lost, deadLetters }: EndpointState,
  configured: readonly string[],
): EndpointDocument {
  return {
    name,
    configured: configured.includes(name),
    waiting,
    nextTryAt: timeOrNull(nextAt),
    lastFailure: reason,
    deadLetters: deadLetters.map(letterDocument),
    deadLettersDropped: lost,
  };
}

function letterDocument({ waiting, reason, at }: DeadLetter): LetterDocument {
  const { id, event, runId, at: happenedAt } = readNotification(waiting.body);
  return { id, event, runId, at: happenedAt, givenUpAt: rfc3339(at), reason };
}
