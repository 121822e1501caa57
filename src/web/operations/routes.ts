import { openMetrics } from '../../metrics.ts';
import type { Web, WebDeps } from '../web.ts';
import { FIGURES_EVERY_MS, openFigures } from './figures.ts';
import { openLook } from './look.ts';
import { addQueueBoard } from './queue-board.ts';
import { openReadiness, READY_CHECKS } from './readiness.ts';

/** What machines ask: whether payrun is alive, whether it can work, and its figures; and the queues for admins. */
export async function addOperations(web: Web, deps: WebDeps): Promise<void> {
  const { app, queues } = deps;
  const metrics = deps.metrics ?? openMetrics();
  const readFigures = openLook(
    app.clock,
    FIGURES_EVERY_MS,
    openFigures({ app, metrics, ...(queues === undefined ? {} : { queues }) }),
  );
  const readReadiness = openReadiness(app, readFigures);

  web.get('/healthz', { config: { act: 'public' } }, async (_request, reply) => reply.status(204).send());

  web.get('/readyz', { config: { act: 'public' } }, async (_request, reply) => {
    const found = await readReadiness();
    const failing = READY_CHECKS.filter((check) => !found[check]);
    return await reply
      .status(failing.length === 0 ? 200 : 503)
      .type('application/json')
      .send(JSON.stringify({ ready: failing.length === 0, checks: found }));
  });

  // A program brings a key with the role viewer, as for everything that it may read.
  web.get('/metrics', { config: { act: 'read', looksByItself: true } }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text(await readFigures())),
  );

  if (queues !== undefined) await addQueueBoard(web, queues);
}
