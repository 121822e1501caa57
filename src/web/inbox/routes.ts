import { rfc3339 } from '../../clock.ts';
import { type TableCell, tableCsv } from '../../report/table-csv.ts';
import { sendPage } from '../parts/frame.tsx';
import type { Web, WebDeps } from '../web.ts';
import { InboxPage } from './inbox-page.tsx';
import { readInboxes, type ShownInbox } from './read-inboxes.ts';

/** The inboxes that somebody reads: this process, or a schedule. */
export function addInboxPages(web: Web, deps: WebDeps): void {
  web.get('/inbox', { config: { act: 'read' } }, async (_request, reply) => {
    return await sendPage(reply, deps, { title: 'Inbox', body: InboxPage({ inboxes: await readInboxes(deps) }) });
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
