import { z } from 'zod';
import { reasonText } from '../../../access/words.ts';
import { rfc3339 } from '../../../clock.ts';
import { blockBeneficiary, readBlocked, unblockBeneficiary } from '../../../runs/block.ts';
import { actorOf } from '../../actor.ts';
import { Problem } from '../../problem.ts';
import type { Web, WebDeps } from '../../web.ts';
import { time } from '../documents.ts';

const blocked = z.object({
  identityId: z.string(),
  by: z.string(),
  at: time,
  reason: z.string(),
  unblockBy: z.string().nullable().describe('Who proposes to end the block'),
});
const beneficiary = z.strictObject({ identity: z.guid().transform((id) => id.toLowerCase()) });
const because = z.strictObject({ reason: reasonText });
const ended = z.object({ result: z.enum(['proposed', 'unblocked']) });

/** The beneficiaries to whom nothing is paid. */
export function addBlockListOperations(api: Web, { app }: WebDeps): void {
  const block = { act: 'block' } as const;
  const readAll = async (): Promise<z.infer<typeof blocked>[]> =>
    (await readBlocked(app)).map(({ at, unblockBy, ...one }) => ({
      ...one,
      at: rfc3339(at),
      unblockBy: unblockBy ?? null,
    }));

  const all = { summary: 'The beneficiaries to whom nothing is paid', response: { 200: z.array(blocked) } };
  api.get('/block-list', { config: { act: 'read' }, schema: all }, readAll);

  const add = {
    summary: 'Stop all payouts to a beneficiary before they are sent',
    params: beneficiary,
    body: because,
    response: { 200: blocked },
  };
  api.put(
    '/block-list/:identity',
    { config: block, schema: add },
    async ({ params: { identity }, body: { reason }, who }) => {
      await blockBeneficiary(app, identity, { actor: actorOf({ who }), reason });
      const one = (await readAll()).find(({ identityId }) => identityId === identity);
      if (one === undefined) throw new Problem(409, 'Others have just ended the block.', 'Look at the list again.');
      return one;
    },
  );

  const end = { summary: 'End a block; two people', params: beneficiary, response: { 200: ended } };
  api.delete('/block-list/:identity', { config: block, schema: end }, async ({ params, who }) => {
    const result = await unblockBeneficiary(app, params.identity, actorOf({ who }));
    if (result === 'not-blocked') throw new Problem(404, 'It is not blocked.', 'The block list shows who is.');
    if (result === 'same-person') {
      throw new Problem(409, 'You have proposed to end the block.', 'Another person has to do the same.');
    }
    return { result };
  });
}
