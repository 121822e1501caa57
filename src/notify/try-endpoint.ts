import type { Endpoint } from '../config/notify.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { Refusal, withSteps } from '../refusal.ts';
import { type DeliverDeps, sendTo } from './deliver.ts';
import { type Origin, writeNotification } from './notification.ts';
import type { Sent } from './retry.ts';

interface TryDeps extends Omit<DeliverDeps, 'ledger'> {
  readonly ledger: Pick<Ledger, 'audit'>;
  readonly endpoints: readonly Endpoint[];
  readonly origin: Omit<Origin, 'instance'>;
}

/**
 * Sends an endpoint a notification of the event `test`, once and at once, and gives what came of it. Throws a Refusal
 * for an endpoint that is not configured here.
 */
export async function tryEndpoint(deps: TryDeps, { name, actor }: { name: string; actor: string }): Promise<Sent> {
  const endpoint = deps.endpoints.find((one) => one.name === name);
  if (endpoint === undefined) {
    throw new Refusal(
      `There is no endpoint ${name} in the settings of this process.`,
      withSteps`See ${{ to: 'see-notifications' }} for those that are configured.`,
    );
  }
  const draft = { event: 'test', at: deps.clock.now(), reason: `${actor} tries it` } as const;
  const body = writeNotification(draft, { ...deps.origin, instance: deps.random.uuid() });
  const sent = await sendTo(deps, endpoint, body);
  const details = { endpoint: name, result: sent.delivered ? 'delivered' : sent.reason };
  await deps.ledger.audit.append({ actor, action: 'notifications.tried', target: 'ledger', details });
  return sent;
}
