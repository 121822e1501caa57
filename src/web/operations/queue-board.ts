import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { JobQueues } from '../../../jobs/open.ts';
import { topOf } from '../parts/frame.tsx';
import type { Web, WebDeps } from '../web.ts';

/** The guard lets only admins below it. */
const PLACE = '/admin/queues';

/** The page sets styles of its own, and names its folder in a base element; all else is as strict as everywhere. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'self'",
].join(';');

/** Its page links fonts of another host, which the policy keeps out: the browser would only complain. */
const LINKS = /<link\b[^<>]*>/g;
const FOREIGN = /\bhref="(?:https?:)?\/\//;

/** Before the board's own styles, which win. */
const STYLES = `<link rel="stylesheet" href="/static/look/tabler.css"><link rel="stylesheet" href="/static/payrun.css">`;

/** The queues as pages of Bull Board, to look at only: jobs are given and taken by payrun alone. */
export async function addQueueBoard(web: Web, deps: WebDeps, jobs: Pick<JobQueues, 'queues'>): Promise<void> {
  const queues = await jobs.queues();
  const adapter = new FastifyAdapter();
  adapter.setBasePath(PLACE);
  createBullBoard({
    queues: queues.map((queue) => new BullMQAdapter(queue, { readOnlyMode: true })),
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'payrun', hideRedisDetails: true } },
  });
  // Thrown on, a fault is answered as everywhere.
  adapter.setErrorHandler((error) => {
    throw error;
  });
  await web.register(
    async (board) => {
      board.addHook('onRequest', async (_request, reply) => {
        reply.header('content-security-policy', CONTENT_SECURITY_POLICY);
      });
      board.addHook('onSend', async (request, _reply, payload) =>
        typeof payload === 'string' && payload.startsWith('<!DOCTYPE html>')
          ? framed(payload, await topOf(request, deps))
          : payload,
      );
      await board.register(adapter.registerPlugin());
    },
    { prefix: PLACE },
  );
}

/** The board's page below the menu that all pages have; what it fixes to the window stays in its own place. */
function framed(page: string, { html, root }: Awaited<ReturnType<typeof topOf>>): string {
  return page
    .replace(LINKS, (link) => (FOREIGN.test(link) ? '' : link))
    .replace('<html ', `<html class="${root}" `)
    .replace('<title>', `${STYLES}<title>`)
    .replace('<body class="', '<body class="board ')
    .replace('<div id="root">', `${html}<div id="root">`);
}
