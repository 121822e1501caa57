import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { JobQueues } from '../../../jobs/open.ts';
import type { Web } from '../web.ts';

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
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'self'",
].join(';');

/** Its page links fonts of another host, which the policy keeps out: the browser would only complain. */
const LINKS = /<link\b[^<>]*>/g;
const FOREIGN = /\bhref="(?:https?:)?\/\//;

/** The way back: the board has a frame of its own. */
const NAV = `<nav aria-label="payrun" style="position:fixed;z-index:99;right:0;bottom:0;padding:.5rem 1rem;background:#0f6b4f">${[
  ['/', 'payrun: Today'],
  ['/runs', 'Runs'],
  ['/to-settle', 'To settle'],
  ['/settings', 'Settings'],
]
  .map(([href, words]) => `<a href="${href}" style="color:#fff;margin-right:1rem">${words}</a>`)
  .join('')}</nav>`;

/** The queues as pages of Bull Board, to look at only: jobs are given and taken by payrun alone. */
export async function addQueueBoard(web: Web, jobs: Pick<JobQueues, 'queues'>): Promise<void> {
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
      board.addHook('onSend', async (_request, _reply, payload) =>
        typeof payload === 'string' && payload.startsWith('<!DOCTYPE html>')
          ? payload.replace(LINKS, (link) => (FOREIGN.test(link) ? '' : link)).replace('</body>', `${NAV}</body>`)
          : payload,
      );
      await board.register(adapter.registerPlugin());
    },
    { prefix: PLACE },
  );
}
