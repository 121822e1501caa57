import { z } from 'zod';
import { type EndpointDocument, endpointDocuments } from '../../../notify/document.ts';
import { putBack } from '../../../notify/put-back.ts';
import { tryEndpoint } from '../../../notify/try-endpoint.ts';
import { actorOf } from '../../actor.ts';
import { tryDepsOf } from '../../notifications/try-deps.ts';
import { Problem } from '../../problem.ts';
import type { Web, WebDeps } from '../../web.ts';
import { count, documentNames, time } from '../documents.ts';

const text = z.string();

const endpoint: z.ZodType<EndpointDocument> = z.object({
  name: text,
  configured: z.boolean(),
  waiting: count,
  nextTryAt: time.nullable(),
  lastFailure: text.nullable(),
  deadLetters: z.array(
    z.object({ id: text, event: text, runId: text.nullable(), at: time, givenUpAt: time, reason: text }),
  ),
  deadLettersDropped: count,
});
documentNames.add(endpoint, { id: 'Endpoint' });

const wanted = z
  .strictObject({ id: text.max(100).optional().describe('Of one dead letter; without it all of them') })
  .nullish()
  .transform((given) => given ?? {});

/** Who is notified, and what could not be delivered. */
export function addNotificationOperations(api: Web, { app }: WebDeps): void {
  const list = { summary: 'Who is notified, and what waits', response: { 200: z.array(endpoint) } };
  api.get('/notifications', { config: { act: 'read' }, schema: list }, async () =>
    endpointDocuments(await app.ledger.outbox.endpoints(), app.config.notify.endpoints),
  );

  const retry = {
    summary: 'Put a dead letter back, or all of them, and try at once what waits',
    body: wanted,
    response: { 200: z.object({ putBack: count }) },
  };
  api.post('/notifications/retry', { config: { act: 'settings' }, schema: retry }, async ({ body: { id }, who }) => {
    const found = await putBack(app, { id, actor: actorOf({ who }) });
    if (id !== undefined && found === 0)
      throw new Problem(404, `There is no dead letter ${id}, or no room for it.`, 'See GET /notifications.');
    return { putBack: found };
  });

  const test = {
    summary: 'Send an endpoint a notification of the event `test`, once and at once',
    body: z.strictObject({ endpoint: text.max(100) }),
    response: { 200: z.object({ delivered: z.boolean(), reason: text.nullable() }) },
  };
  api.post('/notifications/test', { config: { act: 'settings' }, schema: test }, async ({ body, who }) => {
    const sent = await tryEndpoint(tryDepsOf(app), { name: body.endpoint, actor: actorOf({ who }) });
    return { delivered: sent.delivered, reason: sent.delivered ? null : sent.reason };
  });
}
