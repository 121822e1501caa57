import { Readable } from 'node:stream';
import { findSession } from '../../people/sessions.ts';
import { readRun } from '../../runs/read-run.ts';
import { actorOf } from '../actor.ts';
import { Problem } from '../problem.ts';
import { SESSION_COOKIE } from '../session.ts';
import type { Web, WebDeps } from '../web.ts';
import { findRun, ofRun } from './find-run.ts';
import { openLive } from './live.ts';
import { type ProgressSources, progressHtml, readProgress } from './progress-part.tsx';

/** Live progress of a run: as a stream of events, and as it is now. */
export function addLiveRoutes(web: Web, deps: WebDeps, sources: ProgressSources): void {
  const { app } = deps;
  const live = openLive({ ...app, ...sources, read: (runId) => readRun(app, runId) });
  web.addHook('preClose', async () => live.close());
  web.addHook('onResponse', async ({ routeOptions, cookies }, { statusCode }) => {
    const sessionId = cookies[SESSION_COOKIE];
    if (routeOptions.url === '/sign-out' && statusCode === 303 && sessionId !== undefined) live.signedOut(sessionId);
  });

  const config = { act: 'read', looksByItself: true } as const;

  // A HEAD of it would never end.
  web.get('/runs/:run/live', { config, schema: ofRun, exposeHeadRoute: false }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const sessionId = request.cookies[SESSION_COOKIE];
    if (request.who?.csrf === null || sessionId === undefined)
      throw new Problem(403, 'Live progress is for people with a session.', `Ask /api/v1/runs/${run.id} now and then.`);
    const lastEventId = request.headers['last-event-id'];
    const { events, release } = live.follow(run.id, {
      person: actorOf(request),
      sessionId,
      lastEventId: typeof lastEventId === 'string' ? lastEventId : '',
      isSignedIn: async () => (await findSession(app, sessionId, { touches: false })) !== undefined,
    });
    const stream = Readable.from(events).once('close', release);
    return reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no').send(stream);
  });

  web.get('/runs/:run/progress', { config, schema: ofRun }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    return reply.type('text/html; charset=utf-8').send(progressHtml(await readProgress(sources, run), sources.zone));
  });
}
