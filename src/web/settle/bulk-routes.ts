import { z } from 'zod';
import { reasonText } from '../../access/words.ts';
import type { Payout } from '../../payout.ts';
import { isRefused } from '../../report/row.ts';
import { decideInBulk, REASON_CODE } from '../../runs/decide/in-bulk.ts';
import { openLookUps } from '../../runs/look-ups.ts';
import { sendPage } from '../parts/frame.tsx';
import { reasonWords } from '../parts/outcome-words.ts';
import { readForm } from '../parts/read-form.ts';
import { findRun } from '../runs/find-run.ts';
import type { Web, WebDeps } from '../web.ts';
import { BulkDecidedPage, BulkPage } from './bulk-page.tsx';
import { hrefOfGroup } from './groups.ts';

const GROUP = '/runs/:run/settle/:code';
const PAYOUTS_PER_PAGE = 500;

const ofGroup = z.strictObject({ run: z.string().max(64), code: z.string().regex(REASON_CODE) });
const fields = z.record(z.string().max(64), z.string().max(1000));
const form = z.strictObject({
  decision: z.enum(['allow', 'drop', 'not-paid'], 'must be chosen'),
  reason: reasonText,
  lines: z.set(z.int().min(1)).min(1, 'Tick at least one payout.'),
});

/** Held payouts of one reason on one page: ticked, and settled by one form. */
export function addBulkPages(web: Web, deps: WebDeps): void {
  const { app } = deps;
  const openPay = openLookUps(app);

  web.get(GROUP, { config: { act: 'read' }, schema: { params: ofGroup } }, async (request, reply) => {
    const { run: runId, code: reasonCode } = request.params;
    const run = await findRun(deps, runId);
    const payouts = await readGroup(deps, { runId, reasonCode });
    const body = BulkPage({ run, reasonCode, payouts, who: request.who });
    return await sendPage(reply, deps, {
      title: `Settle together: ${reasonWords(reasonCode) ?? 'one reason of the service'}`,
      body,
    });
  });

  web.post(
    GROUP,
    { config: { act: 'settle', page: GROUP }, schema: { params: ofGroup, body: fields } },
    async (request, reply) => {
      const { run: runId, code: reasonCode } = request.params;
      await findRun(deps, runId);
      const { decision, reason, lines } = readForm(form, withLines(request.body));
      const scope = { runId, reasonCode, lines };
      const by = request.who?.name;
      if (by === undefined) throw new Error('a route that decides let somebody in who has not signed in');
      const decided = await decideInBulk({ ...app, openPay }, scope, { decision, reason, by });
      const body = BulkDecidedPage({ decided, href: hrefOfGroup(scope) });
      return await sendPage(reply, deps, { title: decided.done > 0 ? 'Settled' : 'Proposed', body });
    },
  );
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

async function readGroup(
  { app }: WebDeps,
  { runId, reasonCode }: { runId: string; reasonCode: string },
): Promise<Payout[]> {
  const found: Payout[] = [];
  for await (const batch of app.ledger.runs.rows(runId, ['held', 'rejected'])) {
    for (const row of batch) {
      if (isRefused(row) || row.reasonCode !== reasonCode || (row.state === 'rejected' && row.proposal === null))
        continue;
      found.push(row);
      if (found.length >= PAYOUTS_PER_PAGE) return found;
    }
  }
  return found;
}
