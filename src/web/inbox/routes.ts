import { rfc3339 } from '../../clock.ts';
import { Refusal } from '../../refusal.ts';
import { type TableCell, tableCsv } from '../../report/table-csv.ts';
import { isAddress, readSchedule } from '../../schedules/schedule.ts';
import { sendPage } from '../parts/frame.tsx';
import type { Web, WebDeps } from '../web.ts';
import { InboxPage, type ShownInbox } from './inbox-page.tsx';
import { lookAtFolder } from './look.ts';

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

async function readInboxes(deps: WebDeps): Promise<ShownInbox[]> {
  const readers = await readReaders(deps);
  return await Promise.all(
    [...readers].map(async ([address, readBy]) => {
      const folder = isAddress(address)
        ? 'It lies on a server, which is not asked for this page.'
        : await lookAtFolder(address);
      return { address, readBy, folder, trouble: troubleOf(deps, address) };
    }),
  );
}

/** Who reads which inbox. */
async function readReaders({ app, inboxes = [] }: WebDeps): Promise<Map<string, string[]>> {
  const readers = new Map<string, string[]>(inboxes.map(({ address }) => [address, ['payrun serve']]));
  for (const stored of (await app.ledger.schedules.read()).schedules) {
    const dir = inboxOf(stored);
    if (dir === undefined) continue;
    readers.set(dir, [...(readers.get(dir) ?? []), `schedule ${stored.name}`]);
  }
  return readers;
}

/** One that this payrun cannot read is shown among the schedules. */
function inboxOf(stored: Parameters<typeof readSchedule>[0]): string | undefined {
  try {
    const { act } = readSchedule(stored);
    return act.kind === 'inbox' ? act.dir : undefined;
  } catch {
    return undefined;
  }
}

/** What keeps this process from reading an inbox, in words; null for none. */
function troubleOf({ inboxes = [], app }: WebDeps, address: string): ShownInbox['trouble'] {
  const oldest = inboxes.find((one) => one.address === address)?.inbox.troubles.oldest();
  if (oldest === undefined) return null;
  const { error, sinceMs } = oldest;
  const since = app.clock.now() - (app.clock.monotonic() - sinceMs);
  const text = error instanceof Refusal ? `${error.message} ${error.remedy}` : 'There is a fault; the log names it.';
  return { text, since };
}

function csvRows({ address, folder }: ShownInbox): TableCell[][] {
  if (typeof folder === 'string') return [[address, folder]];
  const states = ['waiting', 'claimed', 'accepted', 'refused'] as const;
  return states.flatMap((state) =>
    folder[state].shown.map(({ name, at, runId }) => [address, state, name, { exact: rfc3339(at) }, runId]),
  );
}
