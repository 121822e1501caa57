import { z } from 'zod';
import { PAYOUT_STATES, type Payout } from '../../../payout.ts';
import { withdrawProposal } from '../../../people/withdraw.ts';
import { reportRow } from '../../../report/row.ts';
import { readToSettle } from '../../../runs/decide/to-settle.ts';
import { proposalShown } from '../../../runs/story.ts';
import { actorOf } from '../../actor.ts';
import { openProposed } from '../../settle/proposed.ts';
import type { Web, WebDeps } from '../../web.ts';
import { count, proposalDocument, rowDocument } from '../documents.ts';

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
const place = z.object({ run: text, line: count });
const payout = z.object({
  runId: text,
  state: z.enum(PAYOUT_STATES),
  row: rowDocument,
  proposal: proposalDocument.nullable(),
});
const page = z.object({
  payouts: z.array(payout).describe('Unknown and held ones, those of the newest run first'),
  proposed: z.array(payout).describe('On the first page, those of other states that wait for another person'),
  next: place.nullable().describe('Where the next page begins'),
});

/** What only people can settle, over all runs. */
export function addToSettleOperations(api: Web, { app }: WebDeps): void {
  const readProposed = openProposed(app);
  const querystring = z.strictObject({
    run: text.max(64).optional(),
    line: z.coerce.number('must be a number').int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
  });
  const schema = { summary: 'The payouts that people have to settle', querystring, response: { 200: page } };
  api.get('/to-settle', { config: { act: 'read' }, schema }, async ({ query: { run, line } }) => {
    const from = run === undefined ? null : { runId: run, line };
    const { payouts, next } = await readToSettle(app.ledger, { from, most: PAYOUTS_PER_PAGE });
    const proposed = from === null ? await readProposed() : [];
    return {
      payouts: payouts.map(payoutShown),
      proposed: proposed.map(payoutShown),
      next: next === null ? null : { run: next.runId, line: next.line },
    };
  });
}

function payoutShown(one: Payout): z.infer<typeof payout> {
  return { runId: one.runId, state: one.state, row: reportRow(one), proposal: proposalShown(one.proposal) };
}
