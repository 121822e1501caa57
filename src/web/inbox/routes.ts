import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { rfc3339 } from '../../clock.ts';
import { isAddress } from '../../config/inbox.ts';
import { durationText } from '../../duration.ts';
import { openSource } from '../../inbox/open-source.ts';
import type { InboxSource } from '../../inbox/source.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { type TableCell, tableCsv } from '../../report/table-csv.ts';
import { actorOf } from '../actor.ts';
import { openRate } from '../limits/rate.ts';
import { sendPage } from '../parts/frame.tsx';
import { Problem } from '../problem.ts';
import type { Web, WebDeps } from '../web.ts';
import { InboxPage, RefusedListPage, RefusedPage } from './inbox-page.tsx';
import { lookAtRefused, refusedNames } from './look.ts';
import { readInboxes, readReaders, type ShownInbox } from './read-inboxes.ts';

/** A server is asked so often for one person. */
const SERVER_LOOKS_MAX = 20;
const SERVER_LOOKS_MS = 60_000;

const ofInbox = { querystring: z.strictObject({ inbox: z.string().min(1).max(1000) }) };
const ofFile = {
  querystring: z.strictObject({ inbox: z.string().min(1).max(1000), file: z.string().min(1).max(300) }),
};

/** The inboxes that somebody reads: this process, or a schedule. */
export function addInboxPages(web: Web, deps: WebDeps): void {
  web.get('/inbox', { config: { act: 'read' } }, async (_request, reply) => {
    return await sendPage(reply, deps, { title: 'Inbox', body: InboxPage({ inboxes: await readInboxes(deps) }) });
  });

  const waitOf = openRate(deps.app.clock, { requestsMax: SERVER_LOOKS_MAX, perMs: SERVER_LOOKS_MS });

  /** Only of inboxes that are shown: an address may not lead anywhere else. Undefined for any other. */
  async function lookIn<T>(
    request: FastifyRequest,
    inbox: string,
    look: (source: InboxSource) => Promise<T>,
  ): Promise<T | undefined> {
    if (!(await readReaders(deps)).has(inbox)) return undefined;
    const ms = isAddress(inbox) ? waitOf(actorOf(request)) : 0;
    if (ms > 0) throw new Problem(429, 'The server was asked often enough.', `Try again in ${durationText(ms)}.`);
    const source = openSource(deps.app, inbox);
    try {
      return await look(source);
    } finally {
      await source.close();
    }
  }

  web.get('/inbox/server', { config: { act: 'read' }, schema: ofInbox }, async (request, reply) => {
    const { inbox } = request.query;
    const files = await lookIn(request, inbox, refusedNames);
    if (files === undefined)
      throw new Problem(404, 'Nobody reads this inbox.', 'The page Inbox lists those that are read.');
    return await sendPage(reply, deps, { title: 'Refused files', body: RefusedListPage({ inbox, files }) });
  });

  web.get('/inbox/refused', { config: { act: 'read' }, schema: ofFile }, async (request, reply) => {
    const { inbox, file } = request.query;
    const refused = await lookIn(request, inbox, (source) => lookAtRefused(source, file));
    if (refused === undefined) {
      throw new Problem(
        404,
        'Nothing is told of such a refused file here.',
        'The page Inbox lists those that were refused.',
      );
    }
    return await sendPage(reply, deps, {
      title: `Refused: ${escapeUnseen(file)}`,
      body: RefusedPage({ refused, inbox }),
    });
  });

  web.get('/inbox.csv', { config: { act: 'read' } }, async (_request, reply) => {
    reply.type('text/csv; charset=utf-8').header('content-disposition', 'attachment; filename="inbox.csv"');
    return tableCsv([['inbox', 'state', 'file', 'at', 'run'], ...(await readInboxes(deps)).flatMap(csvRows)]);
  });
}

function csvRows({ address, folder }: ShownInbox): TableCell[][] {
  if (typeof folder === 'string') return [[address, folder]];
  const states = ['waiting', 'claimed', 'accepted', 'refused'] as const;
  return states.flatMap((state) =>
    folder[state].shown.map(({ name, at, runId }) => [address, state, name, { exact: rfc3339(at) }, runId]),
  );
}
