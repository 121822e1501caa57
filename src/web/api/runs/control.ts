import { z } from 'zod';
import type { Act } from '../../../access/roles.ts';
import { reasonText } from '../../../access/words.ts';
import { durationFrom } from '../../../duration.ts';
import type { Run } from '../../../payout.ts';
import { approveRun } from '../../../runs/decide/approve.ts';
import { cancelRun, pauseRun, type Resumption, resumeRun } from '../../../runs/decide/control.ts';
import { documentOf } from '../../../runs/document.ts';
import { actorOf } from '../../actor.ts';
import { findRun } from '../../run/find-run.ts';
import { purgeOne } from '../../run/purge-one.ts';
import type { Web, WebDeps } from '../../web.ts';
import { count, runDocument } from '../documents.ts';
import { ofRun } from '../places.ts';

const approval = z.strictObject({
  sha256: z
    .string()
    .regex(/^[0-9a-fA-F]{8,64}$/, 'must be the SHA-256 of the file, or at least its first 8 digits')
    .describe('Of the file that was looked at'),
  digest: z.string().max(64).optional().describe('Of what was looked at, as the details of the run have it'),
});
const approved = z.object({ run: runDocument, missing: count.describe('People that are still needed') });

interface Step {
  readonly name: 'pause' | 'resume' | 'cancel';
  readonly act: Act;
  readonly summary: string;
  /** What histories say when nobody says more. */
  readonly reason: string | null;
  readonly run: (app: WebDeps['app'], runId: string, control: Resumption) => Promise<Run>;
}

const STEPS: readonly Step[] = [
  { name: 'pause', act: 'pause', summary: 'Stop a run from sending anything more', reason: null, run: pauseRun },
  { name: 'resume', act: 'resume', summary: 'Let a paused run go on', reason: 'resumed', run: resumeRun },
  { name: 'cancel', act: 'cancel', summary: 'Give up a run', reason: 'cancelled', run: cancelRun },
];

const seenStage = z
  .int()
  .min(1)
  .max(10)
  .optional()
  .describe('The stage, counted from 1, that is over as you saw it: refused when it is another one by now');

/** What people and programs do to a run. */
export function addControlOperations(api: Web, deps: WebDeps): void {
  const { app } = deps;
  const schema = { summary: 'Approve a run as it is', params: ofRun, body: approval, response: { 200: approved } };
  api.post('/runs/:run/approve', { config: { act: 'approve' }, schema }, async ({ params, body, who }) => {
    const { id } = await findRun(deps, params.run);
    await app.ensureSeason();
    const { run, missing } = await approveRun(app, id, { actor: actorOf({ who }), ...body });
    return { run: await documentOf(app, run), missing };
  });
  for (const step of STEPS) addStep(api, deps, step);
  addPurge(api, deps);
}

const older = z
  .strictObject({
    olderThan: durationFrom('1d', '36500d').optional().describe('How long ago it must have ended, such as 400d'),
  })
  .nullish()
  .transform((given) => given ?? {});

function addPurge(api: Web, deps: WebDeps): void {
  const schema = {
    summary: 'Remove the rows and report files of a run that ended long ago; its numbers and hashes stay',
    params: ofRun,
    body: older,
    response: { 200: runDocument },
  };
  api.post('/runs/:run/purge', { config: { act: 'settings' }, schema }, async ({ params, body, who }) => {
    const { id } = await findRun(deps, params.run);
    await purgeOne(deps.app, { runId: id, olderThanMs: body.olderThan, actor: actorOf({ who }) });
    return await documentOf(deps.app, await findRun(deps, id));
  });
}

function addStep(api: Web, deps: WebDeps, { name, act, summary, reason, run: take }: Step): void {
  const said = z.strictObject({ reason: reason === null ? reasonText : reasonText.default(reason) });
  const body: z.ZodType<Omit<Resumption, 'actor'>> = name === 'resume' ? said.extend({ stage: seenStage }) : said;
  const schema = {
    summary,
    params: ofRun,
    body: reason === null ? body : body.nullish().transform((given) => given ?? { reason }),
    response: { 200: runDocument },
  };
  api.post(`/runs/:run/${name}`, { config: { act }, schema }, async ({ params, body: given, who }) => {
    const { id } = await findRun(deps, params.run);
    const run = await take(deps.app, id, { actor: actorOf({ who }), ...given });
    return await documentOf(deps.app, run);
  });
}
