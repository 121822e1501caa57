import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Web } from '../web.ts';
import type { WebLimits } from './limits.ts';

const TIMEOUT = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n';

/**
 * Ends requests whose bodies do not come in time, whether they were answered by then or not. Only a file of somebody who may
 * hand it in has longer, as long as it comes at its rate. It has to come before the guard.
 */
export function limitBodies(web: Web, limits: WebLimits): void {
  web.addHook('onRequest', async (request, reply) => {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
    if (length !== '0' || encoding !== undefined) watchBody(request, reply, limits);
  });
}

function watchBody(request: FastifyRequest, reply: FastifyReply, limits: WebLimits): void {
  const { raw } = request;
  const { socket } = raw;
  let bytes: number | null = null;
  let timer = setTimeout(look, limits.bodyMsMax).unref();
  raw.once('close', () => clearTimeout(timer));

  function look(): void {
    if (raw.complete) return;
    const came = bytes === null ? limits.fileBytesMin : socket.bytesRead - bytes;
    // What waits in here for its reader is not late.
    const isOurTurn = raw.readableLength >= raw.readableHighWaterMark;
    if (!isFile(request) || (came < limits.fileBytesMin && !isOurTurn)) return endSlowly(socket, reply.raw.headersSent);
    bytes = socket.bytesRead;
    timer = setTimeout(look, limits.fileBytesWithinMs).unref();
  }
}

function isFile({ who, routeOptions }: FastifyRequest): boolean {
  const { act, takesFile = false } = routeOptions.config;
  return takesFile && who !== null && act !== undefined && act !== 'public' && who.may(act);
}

/** Says why the connection ends, unless an answer has begun. */
function endSlowly(socket: Socket, isAnswered: boolean): void {
  if (isAnswered) socket.destroy();
  else {
    socket.write(TIMEOUT);
    socket.destroySoon();
  }
}
