import { z } from 'zod';
import { endingOf } from '../../../jobs/cut-offs.ts';
import { reasonText } from '../../access/words.ts';
import { stageNumber } from '../../config/stages.ts';
import { durationFrom } from '../../duration.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { isOver, type Run } from '../../payout.ts';
import { signedVersions } from '../../runs/after/report-copy.ts';
import { cancelRun, pauseRun, resumeRun, sendBackRun } from '../../runs/decide/control.ts';
import { actorOf } from '../actor.ts';
import { addApprovalRoutes } from '../approval/routes.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import { Problem } from '../problem.ts';
import { addChangesRoutes } from '../reports/changes-routes.ts';
import { addDownloadRoutes } from '../reports/download-routes.ts';
import { addRunList } from '../runs/routes.ts';
import type { Web, WebDeps } from '../web.ts';
import { findRun, ofRun } from './find-run.ts';
import { addLiveRoutes } from './live-routes.ts';
import { readProgress } from './progress-part.tsx';
import { purgeOne } from './purge-one.ts';
import { PurgePage } from './purge-page.tsx';
import { openRates } from './rates.ts';
import { CancelPage, SendBackPage } from './run-actions.tsx';
import { RunPage, runHead } from './run-page.tsx';
import { openRunSums } from './run-sums.ts';

/** The pages of runs. */
export function addRunPages(web: Web, deps: WebDeps): void {
  const { app } = deps;
  const sources = {
    rates: openRates(app.clock),
    sumsOf: openRunSums(app),
    endingOf: (run: Run) => endingOf(app, run),
    isHalted: async () => (await app.ledger.state.read()).halt !== null,
    zone: deps.zone,
  };

  web.get('/runs/:run', { config: { act: 'read' }, schema: ofRun }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const events = await app.ledger.runs.events(run.id);
    const signed = await signedVersions(app.config.reportDir, run);
    const progress = await readProgress(sources, run);
    const body = RunPage({ progress, events, signed });
    const title = escapeUnseen(run.fileName);
    return await sendPage(reply, deps, { title, body, ...runHead(progress, request.who) });
  });

  addRunList(web, deps);
  addControlRoutes(web, deps);
  addPurgeRoutes(web, deps);
  addApprovalRoutes(web, deps);
  addDownloadRoutes(web, deps);
  addChangesRoutes(web, deps);
  addLiveRoutes(web, deps, sources);
}

/** As the page has it. */
const pausesSeen = z
  .string()
  .regex(/^[0-9]{1,9}$/)
  .transform((digits) => Number.parseInt(digits, 10));

const controlForm = z.strictObject({
  reason: reasonText,
  stage: stageNumber.optional(),
  pauses: pausesSeen.optional(),
});

const ACTS = [
  { path: 'pause', act: 'pause', change: pauseRun, page: '/runs/:run' },
  { path: 'resume', act: 'resume', change: resumeRun, page: '/runs/:run' },
  { path: 'cancel', act: 'cancel', change: cancelRun, page: '/runs/:run/cancel' },
  { path: 'send-back', act: 'cancel', change: sendBackRun, page: '/runs/:run/send-back' },
] as const;

/** What stops a run, lets it go on, or gives it up: as the commands of the same names do. */
function addControlRoutes(web: Web, deps: WebDeps): void {
  for (const { path, act, change, page } of ACTS) {
    web.post(`/runs/:run/${path}`, { config: { act, page }, schema: ofRun }, async (request, reply) => {
      const { id } = await findRun(deps, request.params.run);
      const form = readForm(controlForm, request.body);
      await change(deps.app, id, { actor: actorOf(request), ...form });
      return await reply.redirect(`/runs/${id}`, 303);
    });
  }

  web.get('/runs/:run/cancel', { config: { act: 'cancel' }, schema: ofRun }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    if (isOver(run))
      throw new Problem(409, `Run ${run.id} is ${run.state}; it cannot be cancelled.`, 'Look at the run as it is now.');
    return await sendPage(reply, deps, { title: `Cancel run ${run.id}?`, body: CancelPage({ run }) });
  });

  web.get('/runs/:run/send-back', { config: { act: 'cancel' }, schema: ofRun }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    if (run.state !== 'awaiting-approval') {
      const remedy = 'Look at the run as it is now.';
      throw new Problem(409, `Run ${run.id} is ${run.state}; it does not wait for approval.`, remedy);
    }
    const title = `Send ${escapeUnseen(run.fileName)} back?`;
    return await sendPage(reply, deps, { title, body: SendBackPage({ run }) });
  });
}

const PURGE_PAGE = '/runs/:run/purge';
const purgeForm = z.strictObject({
  olderThan: z.string().trim().min(1, 'must be given, such as 400d').pipe(durationFrom('1d', '36500d')),
});

/** What removes the rows of a run that ended long ago, after a question. */
function addPurgeRoutes(web: Web, deps: WebDeps): void {
  const { app } = deps;

  web.get(PURGE_PAGE, { config: { act: 'settings' }, schema: ofRun }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    if (run.state !== 'finished' && run.state !== 'cancelled')
      throw new Problem(409, `Run ${run.id} is ${run.state}; its rows are needed.`, 'Look at the run as it is now.');
    const body = PurgePage({ run, retentionMs: app.config.retentionMs });
    return await sendPage(reply, deps, { title: `Purge run ${run.id}?`, body });
  });

  web.post(PURGE_PAGE, { config: { act: 'settings', page: PURGE_PAGE }, schema: ofRun }, async (request, reply) => {
    const { id } = await findRun(deps, request.params.run);
    const { olderThan } = readForm(purgeForm, request.body);
    await purgeOne(app, { runId: id, olderThanMs: olderThan, actor: actorOf(request) });
    return await reply.redirect(`/runs/${id}`, 303);
  });
}
