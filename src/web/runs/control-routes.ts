import { z } from 'zod';
import { reasonText } from '../../access/words.ts';
import { cancelRun, pauseRun, resumeRun } from '../../runs/decide/control.ts';
import { actorOf } from '../actor.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import { Problem } from '../problem.ts';
import type { Web, WebDeps } from '../web.ts';
import { findRun, ofRun } from './find-run.ts';
import { CancelPage } from './run-actions.tsx';

const form = z.strictObject({ reason: reasonText });

const ACTS = [
  { act: 'pause', change: pauseRun, page: '/runs/:run' },
  { act: 'resume', change: resumeRun, page: '/runs/:run' },
  { act: 'cancel', change: cancelRun, page: '/runs/:run/cancel' },
] as const;

/** What stops a run, lets it go on, or gives it up: as the commands of the same names do. */
export function addControlRoutes(web: Web, deps: WebDeps): void {
  for (const { act, change, page } of ACTS) {
    web.post(`/runs/:run/${act}`, { config: { act, page }, schema: ofRun }, async (request, reply) => {
      const { id } = await findRun(deps, request.params.run);
      const { reason } = readForm(form, request.body);
      await change(deps.app, id, { actor: actorOf(request), reason });
      return await reply.redirect(`/runs/${id}`, 303);
    });
  }

  web.get('/runs/:run/cancel', { config: { act: 'cancel' }, schema: ofRun }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    if (run.state === 'finished' || run.state === 'cancelled')
      throw new Problem(409, `Run ${run.id} is ${run.state}; it cannot be cancelled.`, 'Look at the run as it is now.');
    return await sendPage(reply, deps, { title: `Cancel run ${run.id}?`, body: CancelPage({ run }) });
  });
}
