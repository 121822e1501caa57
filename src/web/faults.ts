import type { FastifyReply, FastifyRequest } from 'fastify';
import { isApi } from './guard.ts';
import { noteMethods } from './methods.ts';
import { sendPageAlone } from './parts/frame.tsx';
import { ProblemPage, problemTitle } from './parts/problem-page.tsx';
import { ownPath } from './people/own-path.ts';
import { Problem, problemDocument, problemOf } from './problem.ts';
import { openReturns } from './refused-form.ts';
import { readSession } from './session.ts';
import type { Web, WebDeps } from './web.ts';

/**
 * Answers what cannot be done, or went wrong, as a page or as a problem document; a form with its page. Only what is ours to
 * fix is logged.
 */
export function answerFaults(web: Web, deps: WebDeps): void {
  const otherMethods = noteMethods(web);
  const sendBack = openReturns(web, deps);
  const answer = async (problem: Problem, request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    // A download that fails before its first byte is none.
    reply.status(problem.status).removeHeader('content-disposition');
    if (isApi(request)) {
      return await reply.type('application/problem+json').send(JSON.stringify(problemDocument(problem, request.id)));
    }
    const body = ProblemPage({ problem, requestId: request.id, from: formOf(request, deps) });
    return await sendPageAlone(reply, deps, { title: problemTitle(problem), body });
  };
  web.setErrorHandler(async (error, request, reply) => {
    const problem = problemOf(error);
    if (problem.status >= 500) deps.app.log.error('a request failed', { request: request.id, error });
    if (await sendBack(error, request, reply)) return reply;
    return await answer(problem, request, reply);
  });
  web.setNotFoundHandler(async (request, reply) => {
    // The menu is for those who have signed in; a ledger that is away keeps nobody from the answer.
    if (!isApi(request)) request.who = await readSession(request, deps).catch(() => null);
    const methods = otherMethods(request);
    if (methods.length === 0)
      return await answer(new Problem(404, 'There is no such page.', 'Begin with the list of runs.'), request, reply);
    reply.header('allow', methods.join(', '));
    const message = `${request.method} does nothing here.`;
    return await answer(new Problem(405, message, 'Begin with the list of runs.'), request, reply);
  });
}

/** The page of ours whose form was sent, as browsers tell it. */
function formOf({ method, headers: { referer = '' } }: FastifyRequest, { hosts }: WebDeps): string | undefined {
  if (method !== 'POST' || !URL.canParse(referer)) return undefined;
  const { host, pathname, search } = new URL(referer);
  return hosts.has(host) ? ownPath(`${pathname}${search}`) : undefined;
}
