import { z } from 'zod';
import { PAYOUT_STATES, type Payout, payoutId } from '../../../payout.ts';
import { withdrawProposal } from '../../../people/withdraw.ts';
import { reportRow } from '../../../report/row.ts';
import { readToSettle } from '../../../runs/decide/to-settle.ts';
import { proposalShown } from '../../../runs/story.ts';
import { actorOf } from '../../actor.ts';
import { openProposed } from '../../settle/proposed.ts';
import { filterOf, settleQuery } from '../../settle/wanted.ts';
import type { Web, WebDeps } from '../../web.ts';
import { proposalDocument, rowDocument } from '../documents.ts';

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

const PAYOUTS_PER_PAGE = 100;

const text = z.string();
const payout = z.object({
  runId: text,
  state: z.enum(PAYOUT_STATES),
  row: rowDocument,
  proposal: proposalDocument.nullable(),
});
const page = z.object({
  payouts: z.array(payout).describe('Unknown and held ones, those of the newest run first'),
  proposed: z.array(payout).describe('On the first page, those of other states that wait for another person'),
  next: text.nullable().describe('The `from` of the next page'),
});

/** What only people can settle, over all runs. */
export function addToSettleOperations(api: Web, { app }: WebDeps): void {
  const readProposed = openProposed(app);
  const querystring = z.strictObject(settleQuery);
  const schema = { summary: 'The payouts that people have to settle', querystring, response: { 200: page } };
  api.get('/to-settle', { config: { act: 'read' }, schema }, async ({ query }) => {
    const filter = filterOf(query, app.clock.now());
    const { payouts, next } = await readToSettle(app.ledger, { ...filter, most: PAYOUTS_PER_PAGE });
    const proposed = filter.from === null ? await readProposed() : [];
    return {
      payouts: payouts.map(payoutShown),
      proposed: proposed.map(payoutShown),
      next: next === null ? null : payoutId(next),
    };
  });
}

function payoutShown(one: Payout): z.infer<typeof payout> {
  return { runId: one.runId, state: one.state, row: reportRow(one), proposal: proposalShown(one.proposal) };
}
