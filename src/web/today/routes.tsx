import type { FastifyReply } from 'fastify';
import { readInboxes } from '../inbox/read-inboxes.ts';
import { sendPage } from '../parts/frame.tsx';
import { type Waiting, waitingFor } from '../waiting.ts';
import type { Person, Web, WebDeps } from '../web.ts';
import { lastDays, yesterday } from './days.ts';
import { TodayPage, todayWords } from './today-page.tsx';
import { openUnpaid } from './unpaid.ts';

/** The page after sign-in. */
export function addTodayPage(web: Web, deps: WebDeps): void {
  const { app } = deps;
  const readUnpaid = openUnpaid(app.ledger.runs);
  const countRefused = openRefusedCount(deps);

  const show = async (who: Person | null, reply: FastifyReply): Promise<FastifyReply> => {
    if (who === null) throw new Error('the first page let somebody in who has not signed in');
    const [runs, refusedFiles] = await Promise.all([deps.recentRuns(), countRefused()]);
    const waiting = await waitingFor(app, who, runs);
    const now = app.clock.now();
    const unpaid = await readUnpaid(runs, yesterday(now, deps.zone));
    const body = TodayPage({ runs, who, waiting, days: lastDays(runs, now, deps.zone), unpaid, refusedFiles });
    const below = <TodayWords isEmpty={runs.length === 0} waiting={waiting} />;
    return await sendPage(reply, deps, { title: 'Today', body, below });
  };

  web.get('/', { config: { act: 'read' } }, async ({ who }, reply) => await show(who, reply));
  // The same for the script of the page, which asks now and then.
  const again = { act: 'read', looksByItself: true } as const;
  web.get('/today', { config: again }, async ({ who }, reply) => await show(who, reply));
}

const REFUSED_FRESH_MS = 30_000;

/** Files that inboxes refused, as many as there were a moment ago: pages ask again and again. */
function openRefusedCount(deps: WebDeps): () => Promise<number> {
  const { clock } = deps.app;
  let known: { readonly at: number; readonly count: Promise<number> } | undefined;
  const read = async (): Promise<number> =>
    (await readInboxes(deps)).reduce(
      (sum, { folder }) => sum + (typeof folder === 'string' ? 0 : folder.refused.count),
      0,
    );
  return async () => {
    const now = clock.monotonic();
    if (known === undefined || now - known.at > REFUSED_FRESH_MS) known = { at: now, count: read() };
    return await known.count;
  };
}

function TodayWords({ isEmpty, waiting }: { isEmpty: boolean; waiting: Waiting }) {
  return (
    <p class="hint live" data-again="/today">
      <span id="today-words" data-refreshed>
        {isEmpty ? 'Three steps to the first paid file.' : todayWords(waiting)}
      </span>{' '}
      <span data-live-note aria-live="polite" />
    </p>
  );
}
