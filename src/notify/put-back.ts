import type { Clock } from '../clock.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { readNotification } from './notification.ts';

interface PutBackDeps {
  readonly ledger: Pick<Ledger, 'outbox' | 'audit'>;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Puts a notification that was given up back to those that wait, or all of them, and has what waits tried at once. Gives how
 * many were put back: none where there is no such one, or no room for it.
 */
export async function putBack(
  { ledger: { outbox, audit }, clock }: PutBackDeps,
  { id, actor }: { readonly id: string | undefined; readonly actor: string },
): Promise<number> {
  const nowMs = clock.now();
  let count = 0;
  for (const { name, deadLetters } of await outbox.endpoints()) {
    const letters = deadLetters.filter(({ waiting }) => id === undefined || readNotification(waiting.body).id === id);
    for (const letter of letters) if (await outbox.requeue(name, letter, nowMs)) count += 1;
    if (id === undefined || letters.length > 0) await outbox.retryNow(name, nowMs);
  }
  if (count > 0) {
    const details = { count: String(count), id: id ?? 'all' };
    await audit.append({ actor, action: 'notifications.retried', target: 'ledger', details });
  }
  return count;
}
