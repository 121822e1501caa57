import { z } from 'zod';
import { OUTCOMES, type Outcome, type Run } from '../../payout.ts';
import { csvHeader, csvLines } from '../../report/csv.ts';
import { isRefused } from '../../report/row.ts';
import { tableCsv } from '../../report/table-csv.ts';
import { findRows, hasOutcome, statesWith } from '../../runs/find-rows.ts';
import { requireTrueRows, trueRows } from '../../runs/safety/shown-seals.ts';
import { storyOf } from '../../runs/story.ts';
import { sendDownload } from '../download.ts';
import { sendPage } from '../parts/frame.tsx';
import { sendPrintPage } from '../parts/print-page.tsx';
import { noteDownload } from '../runs/downloads.ts';
import { findRun } from '../runs/find-run.ts';
import type { Web, WebDeps } from '../web.ts';
import { Confirmation } from './confirmation.tsx';
import { findPayout, findRow, ofRow } from './find-row.ts';
import { PayoutPage, payoutHead } from './payout-page.tsx';
import { PayoutsPage } from './payouts-page.tsx';

const ROWS_PER_PAGE = 25;

const ofRun = z.strictObject({ run: z.string().max(64) });
const search = {
  outcome: z.union([z.literal('').transform(() => undefined), z.enum(OUTCOMES)]).optional(),
  text: z.string().max(200).default(''),
};
const list = {
  params: ofRun,
  querystring: z.strictObject({ ...search, page: z.coerce.number().int().min(1).max(1_000_000).default(1) }),
};
const csv = { params: ofRun, querystring: z.strictObject(search) };

/** The payouts of a run, and the whole story of each of its rows. */
export function addPayoutPages(web: Web, deps: WebDeps): void {
  const { ledger } = deps.app;

  web.get('/runs/:run/payouts', { config: { act: 'read' }, schema: list }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const { outcome, text, page } = request.query;
    const shown = await rowsShown(deps, run, { outcome, text, page });
    return await sendPage(reply, deps, {
      title: `Payouts of run ${run.id}`,
      body: PayoutsPage({ run, search: { outcome, text, page }, ...shown }),
    });
  });

  web.get('/runs/:run/payouts.csv', { config: { act: 'read' }, schema: csv }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const content = csvOf(deps, run, request.query);
    return await sendDownload(reply, { name: `${run.id}-payouts`, ending: 'csv', content });
  });

  web.get('/runs/:run/payouts/:line', { config: { act: 'read' }, schema: ofRow }, async (request, reply) => {
    const row = await findRow(deps, request.params);
    const run = await findRun(deps, request.params.run);
    const story = await storyOf(ledger, run.id, row);
    const rules = { now: deps.app.clock.now(), quoteGraceMs: deps.app.config.quoteGraceMs };
    const payout = isRefused(row) ? null : row;
    return await sendPage(reply, deps, {
      title: `Payout ${story.reference ?? `on line ${row.line}`}`,
      body: PayoutPage({ story, run, payout, who: request.who, rules }),
      ...payoutHead({ story, run }),
    });
  });

  web.get(
    '/runs/:run/payouts/:line/confirmation',
    { config: { act: 'read' }, exposeHeadRoute: false, schema: ofRow },
    async (request, reply) => {
      const payout = await findPayout(deps, request.params);
      const body = Confirmation({ payout, now: deps.app.clock.now() });
      await noteDownload(deps, request, { runId: payout.runId, what: `confirmation of line ${payout.line}` });
      return sendPrintPage(reply, deps, { title: 'Payment confirmation', body });
    },
  );

  web.get(
    '/runs/:run/payouts/:line/history.csv',
    { config: { act: 'read' }, schema: ofRow },
    async (request, reply) => {
      const { history, payout } = await storyOf(ledger, request.params.run, await findRow(deps, request.params));
      reply.type('text/csv; charset=utf-8');
      reply.header('content-disposition', `attachment; filename="${payout}-history.csv"`);
      return tableCsv([
        ['time', 'state', 'by', 'reason', 'exchange'],
        ...history.map(({ at, to, actor, reason, exchange }) => [{ exact: at }, to, actor, reason, exchange]),
      ]);
    },
  );
}

interface Search {
  readonly outcome?: Outcome | undefined;
  readonly text: string;
}

/** One page of what was searched for, how many rows that is where it is known, and whether the search saw all of them. */
async function rowsShown({ app }: WebDeps, run: Run, { outcome, text, page }: Search & { page: number }) {
  if (text !== '') {
    const { rows, isWhole } = await findRows(app.ledger, run, { reference: text, outcome });
    await requireTrueRows(app, run, rows);
    return { rows, first: 1, count: rows.length, pages: 1, isWhole };
  }
  const states = statesWith(outcome);
  const skip = (page - 1) * ROWS_PER_PAGE;
  const rows = await app.ledger.runs.page(run.id, { states, skip, most: ROWS_PER_PAGE });
  await requireTrueRows(app, run, rows);
  const count = states.reduce((sum, state) => sum + run.counts[state], 0);
  return { rows, first: skip + 1, count, pages: Math.max(1, Math.ceil(count / ROWS_PER_PAGE)), isWhole: true };
}

async function* csvOf({ app }: WebDeps, run: Run, { outcome, text }: Search): AsyncGenerator<string, void> {
  yield csvHeader();
  if (text !== '') {
    const { rows } = await findRows(app.ledger, run, { reference: text, outcome });
    yield csvLines(await requireTrueRows(app, run, rows));
    return;
  }
  for await (const batch of trueRows(app, run, app.ledger.runs.rows(run.id, statesWith(outcome)))) {
    // What has moved since it was looked for is not what was asked for.
    const rows = batch.filter((row) => hasOutcome(row, outcome));
    if (rows.length > 0) yield csvLines(rows);
  }
}
