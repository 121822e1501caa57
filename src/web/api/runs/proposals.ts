import { z } from 'zod';
import { withdrawProposal } from '../../../people/withdraw.ts';
import { actorOf } from '../../actor.ts';
import type { Web, WebDeps } from '../../web.ts';

const seen = z.strictObject({
  target: z.string().max(200).describe('As the list of users has it: `user NAME` or `key NAME`'),
  what: z.string().max(200).describe('In the same words'),
});

/** What admins proposed for users and keys. */
export function addProposalOperations(api: Web, { app }: WebDeps): void {
  const schema = {
    summary: 'Take back what was proposed for a user or a key',
    body: seen,
    response: { 204: z.null().describe('It is not proposed any more') },
  };
  api.post('/proposals/withdraw', { config: { act: 'users' }, schema }, async ({ body, who, ip }, reply) => {
    await withdrawProposal(app, { ...body, actor: actorOf({ who }), ip });
    return await reply.status(204).send(null);
  });
}
