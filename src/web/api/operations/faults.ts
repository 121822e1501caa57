import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import { jsonText } from '../../../report/json-text.ts';
import { noteMethods } from '../../methods.ts';
import { Problem, problemDocument, problemOf } from '../../problem.ts';
import type { Web, WebDeps } from '../../web.ts';
import { refuseType } from '../bodies.ts';

/** Answers what cannot be done, or went wrong, as a problem document (RFC 9457); only what is ours to fix is logged. */
export function answerApiFaults(api: Web, { app }: WebDeps): void {
  const otherMethods = noteMethods(api);
  api.setErrorHandler(async (error, request, reply) => {
    const problem = problemOfCall(error, request);
    if (problem.status >= 500) app.log.error('a request failed', { request: request.id, error });
    return await sendProblem(reply, problem, errorsOf(error));
  });
  api.setNotFoundHandler(async (request, reply) => {
    const methods = otherMethods(request);
    if (methods.length === 0) return await sendProblem(reply, new Problem(404, 'There is no such operation.', SEE));
    reply.header('allow', methods.join(', '));
    return await sendProblem(reply, new Problem(405, `${request.method} does nothing here.`, SEE));
  });
}

const SEE = 'See /api/v1/openapi.json for what there is.';

/** Answers with a problem document, and what it has besides. */
export async function sendProblem(reply: FastifyReply, problem: Problem, others: object = {}): Promise<FastifyReply> {
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer');
  // A download that fails before its first byte is none.
  reply.removeHeader('content-disposition');
  const document = { ...problemDocument(problem, reply.request.id), ...others };
  return await reply.status(problem.status).type('application/problem+json').send(jsonText(document));
}

function problemOfCall(error: unknown, request: FastifyRequest): Problem {
  if (hasZodFastifySchemaValidationErrors(error)) {
    return new Problem(400, 'The request is not as it should be: see "errors".', SEE);
  }
  const problem = problemOf(error);
  if (problem === error) return problem;
  if (problem.status === 415) return refuseType(request.routeOptions.config.takesFile ?? false);
  if (problem.status === 413) {
    return new Problem(413, `The body has more than ${request.routeOptions.bodyLimit} bytes.`, 'Send less at a time.');
  }
  return problem;
}

/** Each member that is wrong, with its place: `body/reason`, `querystring/page`. */
function errorsOf(error: unknown): { errors?: { place: string; message: string }[] } {
  if (!hasZodFastifySchemaValidationErrors(error)) return {};
  const where = error.validationContext ?? 'request';
  const errors = error.validation.map(({ instancePath, message }) => ({
    place: `${where}${instancePath === '/' ? '' : instancePath}`,
    message: message ?? 'is wrong',
  }));
  return { errors };
}
