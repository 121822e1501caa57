import { z } from 'zod';
import { reasonText } from '../../access/words.ts';
import { DECISIONS, type Payout } from '../../payout.ts';
import { isRefused } from '../../report/row.ts';
import { type BulkScope, decideInBulk } from '../../runs/decide/in-bulk.ts';
import { reasonWords } from '../../runs/decide/reason-words.ts';
import { settleReason } from '../../runs/decide/to-settle.ts';
import { openLookUps } from '../../runs/look-ups.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import { findRun } from '../run/find-run.ts';
import type { Web, WebDeps } from '../web.ts';
import { BulkDecidedPage, BulkPage } from './bulk-page.tsx';
import { REASON_CODE, UNKNOWN } from './groups.ts';

const GROUP = '/runs/:run/settle/:code';
/** A page has 50 ms of the processor; those beyond are taken by one tick. */
const PAYOUTS_PER_PAGE = 200;

const ofGroup = z.strictObject({
  run: z.string().max(64),
  code: z.union([z.literal(UNKNOWN), z.string().regex(REASON_CODE)]),
});
const reasonOfUnknown = z.string().trim().max(200).default('');
const fields = z.record(z.string().max(64), z.string().max(1000));
const form = z
  .strictObject({
    decision: z.enum(DECISIONS, 'must be chosen'),
    reason: reasonText,
    lines: z.set(z.int().min(1)),
    all: z.literal('yes').optional(),
    which: reasonOfUnknown,
  })
  .refine(({ lines, all }) => all === 'yes' || lines.size > 0, {
    path: ['lines'],
    message: 'Tick at least one payout.',
  });

/** Payouts of one reason on one page: ticked, and settled by one form. */
export function addBulkPages(web: Web, deps: WebDeps): void {
  const { app } = deps;
  const openPay = openLookUps(app);

  const list = { params: ofGroup, querystring: z.strictObject({ reason: reasonOfUnknown }) };
  web.get(GROUP, { config: { act: 'read' }, schema: list }, async (request, reply) => {
    const { run: runId, code } = request.params;
    const run = await findRun(deps, runId);
    // A form that was refused comes back for the same reason, whatever its address was.
    const scope = scopeOf(runId, code, request.refused?.typed['which'] ?? request.query.reason);
    const found = await readGroup(deps, scope);
    const shown = { payouts: found.slice(0, PAYOUTS_PER_PAGE), more: found.length > PAYOUTS_PER_PAGE };
    const words = code === UNKNOWN ? 'not known yet' : (reasonWords(code) ?? 'one reason of the service');
    const body = BulkPage({ run, code, scope, ...shown, who: request.who });
    return await sendPage(reply, deps, { title: `Settle together: ${words}`, body });
  });

  web.post(
    GROUP,
    { config: { act: 'settle', page: GROUP }, schema: { params: ofGroup, body: fields } },
    async (request, reply) => {
      const { run: runId, code } = request.params;
      await findRun(deps, runId);
      const { decision, reason, lines, all, which } = readForm(form, withLines(request.body));
      const by = request.who?.name;
      if (by === undefined) throw new Error('a route that decides let somebody in who has not signed in');
      // What was ticked is settled whatever was last said of it.
      const scope = all === 'yes' ? scopeOf(runId, code, which) : { ...scopeOf(runId, code, ''), lines };
      const decided = await decideInBulk({ ...app, openPay }, scope, { decision, reason, by });
      const body = BulkDecidedPage({ decided, runId, code });
      return await sendPage(reply, deps, { title: decided.done > 0 ? 'Settled' : 'Proposed', body });
    },
  );
}

function scopeOf(runId: string, code: string, reason: string): BulkScope {
  if (code === UNKNOWN) return { runId, state: 'unknown', reason: reason || undefined };
  return { runId, state: 'held', reason: code };
}

/** A form has a field `line-N` for each payout that is ticked. */
function withLines(body: Readonly<Record<string, string>>): Record<string, unknown> {
  const others: Record<string, unknown> = {};
  const lines = new Set<number>();
  for (const [name, value] of Object.entries(body)) {
    const line = /^line-([1-9][0-9]{0,8})$/.exec(name)?.[1];
    if (line === undefined) others[name] = value;
    else lines.add(Number.parseInt(line, 10));
  }
  return { ...others, lines };
}

/** The payouts of one page, and one more where there are more. */
async function readGroup({ app }: WebDeps, { runId, state, reason }: BulkScope): Promise<Payout[]> {
  const found: Payout[] = [];
  for await (const batch of app.ledger.runs.rows(runId, state === 'unknown' ? ['unknown'] : ['held', 'rejected'])) {
    for (const row of batch) {
      if (isRefused(row) || (row.state === 'rejected' && row.proposal === null)) continue;
      if (reason !== undefined && settleReason(row) !== reason) continue;
      found.push(row);
      if (found.length > PAYOUTS_PER_PAGE) return found;
    }
  }
  return found;
}
