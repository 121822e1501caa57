import { sendPage } from '../parts/frame.tsx';
import type { Web, WebDeps } from '../web.ts';
import { addApprovalRoutes } from './approval-routes.ts';
import { addControlRoutes } from './control-routes.ts';
import { addDownloadRoutes } from './download-routes.ts';
import { findRun, ofRun } from './find-run.ts';
import { addRunList } from './list-routes.ts';
import { addLiveRoutes } from './live-routes.ts';
import { progressOf } from './progress-part.tsx';
import { addPurgeRoutes } from './purge-routes.ts';
import { openRates } from './rates.ts';
import { RunPage } from './run-page.tsx';

/** The pages of runs. */
export function addRunPages(web: Web, deps: WebDeps): void {
  const { app } = deps;
  const rates = openRates(app.clock);

  web.get('/', { config: { act: 'read' } }, async (_request, reply) => await reply.redirect('/runs', 303));

  web.get('/runs/:run', { config: { act: 'read' }, schema: ofRun }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const events = await app.ledger.runs.events(run.id);
    const body = RunPage({ progress: progressOf(rates, run), who: request.who, events });
    return await sendPage(reply, deps, { title: `Run ${run.id}`, body });
  });

  addRunList(web, deps);
  addControlRoutes(web, deps);
  addPurgeRoutes(web, deps);
  addApprovalRoutes(web, deps);
  addDownloadRoutes(web, deps);
  addLiveRoutes(web, deps, rates);
}
