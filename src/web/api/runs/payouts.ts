import { z } from 'zod';
import { reasonText } from '../../../access/words.ts';
import { DECISIONS, type Decision, PAYOUT_STATES, type Payout } from '../../../payout.ts';
import { isRefused } from '../../../report/row.ts';
import { cancelPayout } from '../../../runs/decide/control.ts';
import { type Asked, decidePayout } from '../../../runs/decide/decide.ts';
import { decideInBulk, PAYOUTS_PER_CALL_MAX } from '../../../runs/decide/in-bulk.ts';
import { documentOf } from '../../../runs/document.ts';
import { openLookUps } from '../../../runs/look-ups.ts';
import { proposalShown } from '../../../runs/story.ts';
import { actorOf } from '../../actor.ts';
import { Problem } from '../../problem.ts';
import { findRun } from '../../run/find-run.ts';
import type { Person, Web, WebDeps } from '../../web.ts';
import { proposalDocument, runDocument } from '../documents.ts';
import { ofPayout, ofRun } from '../places.ts';

const decided = z.object({
  runId: z.string(),
  line: z.int(),
  reference: z.string(),
  state: z.enum(PAYOUT_STATES),
  result: z
    .enum(['proposed', 'to-read', 'done'])
    .describe('proposed: another person has to do the same. to-read: something speaks against it; see `evidence`'),
  proposal: proposalDocument.nullable(),
  evidence: z.array(z.string()),
  digest: z.string().nullable().describe('With `to-read`: of what speaks against it'),
});

const because = z.strictObject({ reason: reasonText });
const hasRead = z
  .union([z.boolean(), z.string().max(64)])
  .default(false)
  .describe(
    'The `digest` of a `to-read` answer confirms it as long as nothing else speaks against it; `true` whatever does',
  );
const becauseRead = because.extend({ read: hasRead });
const paymentId = z.string().trim().min(1, 'must not be empty').max(128, 'must have at most 128 characters');
const resolution = z.discriminatedUnion('outcome', [
  z.strictObject({ outcome: z.literal('paid'), paymentId, reason: reasonText, read: hasRead }),
  z.strictObject({ outcome: z.literal('not-paid'), reason: reasonText, read: hasRead }),
]);

const bulk = z.strictObject({
  decision: z.enum(DECISIONS).describe('paid: each by the payment of its own quote'),
  reasonCode: z
    .string()
    .trim()
    .min(1, 'must be a code such as E_LIMIT')
    .max(200)
    .describe('Why they wait: the code with which they are held, or what was last said of an unknown one'),
  lines: z
    .array(z.int().min(1))
    .min(1)
    .max(PAYOUTS_PER_CALL_MAX)
    .optional()
    .describe('Only the payouts on these lines of the file; one that does not wait for this any more is left out'),
  reason: reasonText,
});
const bulkDecided = z.object({
  proposed: z.int().describe('Another person has to do the same'),
  done: z.int(),
  leftOut: z.array(z.object({ line: z.int(), reference: z.string(), why: z.string() })),
  more: z.boolean().describe('There are more than one call takes: call again'),
});

/** What people decide of one payout; each by two of them, but to cancel what was never sent. */
export function addPayoutOperations(api: Web, deps: WebDeps): void {
  const { app } = deps;
  const decide = openDecisions(deps);
  const settle = { act: 'settle' } as const;
  const shared = { params: ofPayout, response: { 200: decided } };

  const allow = { summary: 'Let a held payout that was never sent go; two people', body: becauseRead, ...shared };
  api.post('/runs/:run/payouts/:line/allow', { config: settle, schema: allow }, async ({ params, body, who }) => {
    return await decide(who, params, { decision: 'allow', paymentId: '', ...body });
  });

  const drop = { summary: 'Give up a held payout that was never sent; two people', body: becauseRead, ...shared };
  api.post('/runs/:run/payouts/:line/drop', { config: settle, schema: drop }, async ({ params, body, who }) => {
    return await decide(who, params, { decision: 'drop', paymentId: '', ...body });
  });

  const resolve = { summary: 'Settle what only people can; two people', body: resolution, ...shared };
  api.post('/runs/:run/payouts/:line/resolve', { config: settle, schema: resolve }, async ({ params, body, who }) => {
    const payment = body.outcome === 'paid' ? body.paymentId : '';
    const { outcome: decision, reason } = body;
    return await decide(who, params, { decision, paymentId: payment, reason, read: body.read });
  });

  const inBulk = {
    summary: 'Settle the payouts of a run that have one reason code; two people',
    params: ofRun,
    body: bulk,
    response: { 200: bulkDecided },
  };
  api.post('/runs/:run/settle', { config: settle, schema: inBulk }, async ({ params, body, who }) => {
    const { id: runId } = await findRun(deps, params.run);
    const { reasonCode, lines, decision, reason } = body;
    const scope = { runId, reason: reasonCode, lines: lines === undefined ? undefined : new Set(lines) };
    const result = await decideInBulk({ ...app, openPay: openLookUps(app) }, scope, {
      decision,
      reason,
      by: actorOf({ who }),
    });
    return { ...result, leftOut: [...result.leftOut] };
  });

  const cancel = {
    summary: 'Cancel a payout that waits',
    params: ofPayout,
    body: because,
    response: { 200: runDocument },
  };
  api.post(
    '/runs/:run/payouts/:line/cancel',
    { config: { act: 'cancel' }, schema: cancel },
    async ({ params, body: { reason }, who }) => {
      const payout = await findPayoutAt(deps, params);
      await cancelPayout(app, payout, { actor: actorOf({ who }), reason });
      return await documentOf(app, await findRun(deps, payout.runId));
    },
  );
}

type Place = z.infer<typeof ofPayout>;
type Wanted = {
  readonly decision: Decision;
  readonly paymentId: string;
  readonly reason: string;
  readonly read: boolean | string;
};

/** Decisions share one way to look payouts up. */
function openDecisions(deps: WebDeps) {
  const { app } = deps;
  const openPay = openLookUps(app);
  return async (who: Person | null, place: Place, { read, ...wanted }: Wanted): Promise<z.infer<typeof decided>> => {
    const payout = await findPayoutAt(deps, place);
    const asked = { ...wanted, by: actorOf({ who }), caveats: caveatsOf(read) };
    const { result, evidence, digest = null } = await decidePayout({ ...app, openPay }, payout, asked);
    const { runId, line, row, state, proposal } = await findPayoutAt(deps, place);
    const shown = { proposal: proposalShown(proposal), evidence: [...evidence] };
    return { runId, line, reference: row.reference, state, result, digest, ...shown };
  };
}

function caveatsOf(read: boolean | string): Asked['caveats'] {
  if (typeof read === 'string') return { digest: read };
  return read ? 'read' : undefined;
}

/** Throws a Problem (404) where the run has no payout. */
async function findPayoutAt(deps: WebDeps, { run, line }: Place): Promise<Payout> {
  const { id } = await findRun(deps, run);
  const row = await deps.app.ledger.runs.row(id, line);
  if (row !== undefined && !isRefused(row)) return row;
  throw new Problem(404, `The run has no payout on line ${line}.`, 'See its payouts; a refused row is none.');
}
