import { z } from 'zod';
import { type EndpointDocument, endpointDocuments } from '../../notify/document.ts';
import { putBack } from '../../notify/put-back.ts';
import { tryEndpoint } from '../../notify/try-endpoint.ts';
import { type TableCell, tableCsv } from '../../report/table-csv.ts';
import { actorOf } from '../actor.ts';
import { sendDownload } from '../download.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import { Problem } from '../problem.ts';
import type { Web, WebDeps } from '../web.ts';
import { NotificationsPage } from './notifications-page.tsx';
import { tryDepsOf } from './try-deps.ts';

const PAGE = '/notifications';
const COUNT_MAX = 1_000_000;

const shown = { querystring: z.strictObject({ back: z.coerce.number().int().min(0).max(COUNT_MAX).optional() }) };
const fields = { body: z.record(z.string().max(64), z.string().max(1000)) };
const testForm = z.strictObject({ endpoint: z.string().max(100) });
const retryForm = z.strictObject({ id: z.string().max(100).optional() });

/** Who is notified, and what could not be delivered; admins have it tried again. */
export function addNotificationPages(web: Web, deps: WebDeps): void {
  web.get(PAGE, { config: { act: 'read' }, schema: shown }, async (request, reply) => {
    const body = NotificationsPage({
      endpoints: await readEndpoints(deps),
      mayRetry: request.who?.may('settings') === true,
      back: request.query.back ?? null,
      tried: null,
    });
    return await sendPage(reply, deps, { title: 'Notifications', body });
  });

  web.get(`${PAGE}.csv`, { config: { act: 'read' } }, async (_request, reply) => {
    return await sendDownload(reply, { name: 'notifications', ending: 'csv', content: csvOf(deps) });
  });

  web.post(`${PAGE}/retry`, { config: { act: 'settings', page: PAGE }, schema: fields }, async (request, reply) => {
    const { id } = readForm(retryForm, request.body);
    const count = await putBack(deps.app, { id, actor: actorOf(request) });
    if (id !== undefined && count === 0)
      throw new Problem(
        409,
        'This notification was not put back: it is not given up any more, or there is no room for it.',
        'Look at the list again.',
      );
    return await reply.redirect(`${PAGE}?back=${count}`, 303);
  });

  web.post(`${PAGE}/test`, { config: { act: 'settings', page: PAGE }, schema: fields }, async (request, reply) => {
    const { endpoint } = readForm(testForm, request.body);
    const sent = await tryEndpoint(tryDepsOf(deps.app), { name: endpoint, actor: actorOf(request) });
    const body = NotificationsPage({
      endpoints: await readEndpoints(deps),
      mayRetry: true,
      back: null,
      tried: { endpoint, sent },
    });
    return await sendPage(reply, deps, { title: 'Notifications', body });
  });
}

async function readEndpoints({ app }: WebDeps): Promise<EndpointDocument[]> {
  return endpointDocuments(await app.ledger.outbox.endpoints(), app.config.notify.endpoints);
}

const OF_ENDPOINT = ['endpoint', 'configured', 'waiting', 'nextTryAt', 'lastFailure', 'givenUpDropped'];
const OF_LETTER = ['givenUp', 'event', 'run', 'at', 'givenUpAt', 'reason'];

/** A line for each that was given up; one without any for an endpoint that has none. */
async function* csvOf(deps: WebDeps): AsyncGenerator<string, void> {
  yield tableCsv([[...OF_ENDPOINT, ...OF_LETTER]]);
  for (const endpoint of await readEndpoints(deps)) {
    const { name, configured, waiting, nextTryAt, lastFailure, deadLetters, deadLettersDropped } = endpoint;
    const next = nextTryAt === null ? null : { exact: nextTryAt };
    const facts: TableCell[] = [name, configured ? 'yes' : 'no', waiting, next, lastFailure, deadLettersDropped];
    const letters = deadLetters.map(({ id, event, runId, at, givenUpAt, reason }): TableCell[] => {
      const letter: TableCell[] = [id, event, runId, { exact: at }, { exact: givenUpAt }, reason];
      return [...facts, ...letter];
    });
    yield tableCsv(letters.length > 0 ? letters : [[...facts, ...OF_LETTER.map(() => null)]]);
  }
}
