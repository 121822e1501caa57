import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { sendPage } from '../parts/frame.tsx';
import type { Web, WebDeps } from '../web.ts';
import { addApprovalRoutes } from './approval-routes.ts';
import { addControlRoutes } from './control-routes.ts';
import { addDownloadRoutes } from './download-routes.ts';
import { openEndedRuns } from './ended-run.ts';
import { findRun, ofRun } from './find-run.ts';
import { addRunList } from './list-routes.ts';
import { addLiveRoutes } from './live-routes.ts';
import { readProgress } from './progress-part.tsx';
import { addPurgeRoutes } from './purge-routes.ts';
import { openRates } from './rates.ts';
import { RunPage, runHead } from './run-page.tsx';

/** The pages of runs. */
export function addRunPages(web: Web, deps: WebDeps): void {
  const { app } = deps;
  const sources = {
    rates: openRates(app.clock),
    endedOf: openEndedRuns(app.ledger),
    isHalted: async () => (await app.ledger.state.read()).halt !== null,
    zone: deps.zone,
  };

  web.get('/runs/:run', { config: { act: 'read' }, schema: ofRun }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const events = await app.ledger.runs.events(run.id);
    const body = RunPage({ progress: await readProgress(sources, run), events });
    const title = escapeUnseen(run.fileName);
    return await sendPage(reply, deps, { title, body, ...runHead(run, request.who) });
  });

  addRunList(web, deps);
  addControlRoutes(web, deps);
  addPurgeRoutes(web, deps);
  addApprovalRoutes(web, deps);
  addDownloadRoutes(web, deps);
  addLiveRoutes(web, deps, sources);
}
