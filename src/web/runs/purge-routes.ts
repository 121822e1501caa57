import { z } from 'zod';
import { durationFrom } from '../../duration.ts';
import { actorOf } from '../actor.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import { Problem } from '../problem.ts';
import type { Web, WebDeps } from '../web.ts';
import { findRun, ofRun } from './find-run.ts';
import { purgeOne } from './purge-one.ts';
import { PurgePage } from './purge-page.tsx';

const PAGE = '/runs/:run/purge';
const form = z.strictObject({
  olderThan: z.string().trim().min(1, 'must be given, such as 400d').pipe(durationFrom('1d', '36500d')),
});

/** What removes the rows of a run that ended long ago, after a question: as `payrun purge` does. */
export function addPurgeRoutes(web: Web, deps: WebDeps): void {
  const { app } = deps;

  web.get(PAGE, { config: { act: 'settings' }, schema: ofRun }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    if (run.state !== 'finished' && run.state !== 'cancelled')
      throw new Problem(409, `Run ${run.id} is ${run.state}; its rows are needed.`, 'Look at the run as it is now.');
    const body = PurgePage({ run, retentionMs: app.config.retentionMs });
    return await sendPage(reply, deps, { title: `Purge run ${run.id}?`, body });
  });

  web.post(PAGE, { config: { act: 'settings', page: PAGE }, schema: ofRun }, async (request, reply) => {
    const { id } = await findRun(deps, request.params.run);
    const { olderThan } = readForm(form, request.body);
    await purgeOne(app, { runId: id, olderThanMs: olderThan, actor: actorOf(request) });
    return await reply.redirect(`/runs/${id}`, 303);
  });
}
