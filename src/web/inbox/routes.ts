import { z } from 'zod';
import { rfc3339 } from '../../clock.ts';
import { isAddress } from '../../config/inbox.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { type TableCell, tableCsv } from '../../report/table-csv.ts';
import { sendPage } from '../parts/frame.tsx';
import { Problem } from '../problem.ts';
import type { Web, WebDeps } from '../web.ts';
import { InboxPage, RefusedPage } from './inbox-page.tsx';
import { lookAtRefused } from './look.ts';
import { readInboxes, type ShownInbox } from './read-inboxes.ts';

const ofFile = {
  querystring: z.strictObject({ inbox: z.string().min(1).max(1000), file: z.string().min(1).max(300) }),
};

/** The inboxes that somebody reads: this process, or a schedule. */
export function addInboxPages(web: Web, deps: WebDeps): void {
  web.get('/inbox', { config: { act: 'read' } }, async (_request, reply) => {
    return await sendPage(reply, deps, { title: 'Inbox', body: InboxPage({ inboxes: await readInboxes(deps) }) });
  });

  web.get('/inbox/refused', { config: { act: 'read' }, schema: ofFile }, async (request, reply) => {
    const { inbox, file } = request.query;
    // Only those that are shown: an address may not lead to any other folder.
    const isShown = (await readInboxes(deps)).some(({ address }) => address === inbox);
    const refused = isShown && !isAddress(inbox) ? await lookAtRefused(inbox, file) : undefined;
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
