import type { Clock, Random } from '../clock.ts';
import type { Endpoint } from '../config/notify.ts';
import { LEDGER_QUEUE } from '../ledger/keys.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Log, LogFields } from '../log.ts';
import { mailNotification } from './mail.ts';
import { readNotification } from './notification.ts';
import { afterFailure, type Sent } from './retry.ts';
import { postNotification } from './webhook.ts';

/** Notifications of one queue that one job delivers; the next job goes on. */
const DELIVERIES_MAX = 50;

export interface DeliverDeps {
  readonly ledger: Pick<Ledger, 'outbox'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** PEM certificates that are trusted besides Node's own. */
  readonly certificates?: readonly string[] | undefined;
}

/**
 * Delivers what waits in a queue, one after the other, until one fails; one that is given up makes way for the next. Each is
 * settled after it was delivered: whoever ends in between lets it be delivered again.
 */
export async function deliverQueue(
  deps: DeliverDeps,
  { endpoint, queue }: { endpoint: Endpoint; queue: string },
  stopping: AbortSignal,
): Promise<void> {
  const by = deps.random.uuid();
  for (let count = 0; count < DELIVERIES_MAX && !stopping.aborted; count++) {
    const next = await deps.ledger.outbox.take({ endpoint: endpoint.name, queue, by }, deps.clock.now());
    if (next === undefined) return;
    const sent = await sendTo(deps, endpoint, next.waiting.body);
    const nowMs = deps.clock.now();
    const end = sent.delivered
      ? ({ what: 'delivered', againMs: nowMs, reason: '' } as const)
      : {
          ...afterFailure({ ...next.waiting, failures: next.failures }, { nowMs, fraction: deps.random.fraction() }),
          reason: sent.reason,
        };
    const place = { endpoint: endpoint.name, queue, by, item: next.item, nowMs };
    const isSettled = await deps.ledger.outbox.settle({ ...place, ...end });
    if (isSettled) tellFailure(deps.log, { endpoint: endpoint.name, queue, failures: next.failures, ...end });
  }
}

/** Sends a notification to an endpoint once; what comes in the way is told, not thrown. */
export async function sendTo(deps: Omit<DeliverDeps, 'ledger'>, endpoint: Endpoint, body: string): Promise<Sent> {
  if (endpoint.kind === 'mail') return await mailNotification(endpoint, body, deps);
  return await postNotification(endpoint, { id: readNotification(body).id, body }, deps);
}

/** Once when it begins to fail, and when it is given up. */
function tellFailure(
  log: Log,
  end: { endpoint: string; queue: string; failures: number; what: string; reason: string },
): void {
  const run: LogFields = end.queue === LEDGER_QUEUE ? {} : { run: end.queue };
  const fields = { ...run, to: end.endpoint, reason: end.reason };
  if (end.what === 'dead') log.error('a notification was given up', fields);
  else if (end.what === 'failed' && end.failures === 0) log.warn('a notification could not be delivered', fields);
}
