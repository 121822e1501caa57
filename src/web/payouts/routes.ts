import { z } from 'zod';
import type { Payout, RefusedRow } from '../../payout.ts';
import { csvHeader, csvLines } from '../../report/csv.ts';
import { isRefused } from '../../report/row.ts';
import { tableCsv } from '../../report/table-csv.ts';
import { readDecisionRules } from '../../runs/decide/choices.ts';
import { requireTrueRows, trueRows } from '../../runs/safety/shown-seals.ts';
import { storyOf } from '../../runs/story.ts';
import { sendDownload } from '../download.ts';
import { pageQuery } from '../lists/listed.ts';
import { sendPage } from '../parts/frame.tsx';
import { sendPrintPage } from '../parts/print-page.tsx';
import { noteDownload } from '../reports/downloads.ts';
import { findRun } from '../run/find-run.ts';
import type { Web, WebDeps } from '../web.ts';
import { Confirmation } from './confirmation.tsx';
import { findPayout, findRow, ofRow } from './find-row.ts';
import { PayoutPage, payoutHead } from './payout-page.tsx';
import { PayoutsPage, payoutsHead } from './payouts-page.tsx';
import { rowQuery } from './wanted.ts';

const ROWS_PER_PAGE = 25;

const ofRun = z.strictObject({ run: z.string().max(64) });
const list = {
  params: ofRun,
  querystring: z.strictObject({ ...rowQuery, page: pageQuery }),
};
const csv = { params: ofRun, querystring: z.strictObject(rowQuery) };

/** The payouts of a run, and the whole story of each of its rows. */
export function addPayoutPages(web: Web, deps: WebDeps): void {
  const { ledger } = deps.app;

  web.get('/runs/:run/payouts', { config: { act: 'read' }, schema: list }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const { page, ...wanted } = request.query;
    const { count, isWhole, page: read } = await deps.findRows(run, wanted);
    const first = (page - 1) * ROWS_PER_PAGE;
    const rows = await requireTrueRows(deps.app, run, await read(first, ROWS_PER_PAGE));
    const pages = Math.max(1, Math.ceil(count / ROWS_PER_PAGE));
    return await sendPage(reply, deps, {
      title: `Payouts of ${run.fileName}`,
      ...payoutsHead(run),
      body: PayoutsPage({ run, wanted, rows, first: first + 1, count, page, pages, isWhole }),
    });
  });

  web.get('/runs/:run/payouts.csv', { config: { act: 'read' }, schema: csv }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const { all } = await deps.findRows(run, request.query);
    const content = csvOf(trueRows(deps.app, run, all()));
    return await sendDownload(reply, { name: `${run.id}-payouts`, ending: 'csv', content });
  });

  web.get('/runs/:run/payouts/:line', { config: { act: 'read' }, schema: ofRow }, async (request, reply) => {
    const row = await findRow(deps, request.params);
    const run = await findRun(deps, request.params.run);
    const story = await storyOf(ledger, run.id, row);
    const rules = await readDecisionRules(deps.app);
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

async function* csvOf(batches: AsyncIterable<readonly (Payout | RefusedRow)[]>): AsyncGenerator<string, void> {
  yield csvHeader();
  for await (const rows of batches) yield csvLines(rows);
}
