import type { FastifyRequest } from 'fastify';

/** Who asks, as histories and the audit log name them. Only for routes that are not public. */
export function actorOf({ who }: Pick<FastifyRequest, 'who'>): string {
  if (who === null) throw new Error('a route let somebody in who has not signed in');
  return who.name;
}
