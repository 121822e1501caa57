import { z } from 'zod';
import { rfc3339 } from '../../clock.ts';
import type { SoughtState } from '../../ledger/runs/find-runs.ts';
import { formatAmount } from '../../money.ts';
import { OUTCOMES, type Run } from '../../payout.ts';
import { type TableCell, tableCsv } from '../../report/table-csv.ts';
import { fileTotals } from '../../report/totals.ts';
import { rowsDone } from '../../runs/progress.ts';
import { sendDownload } from '../download.ts';
import { pageQuery } from '../lists/listed.ts';
import { sendPage } from '../parts/frame.tsx';
import type { Web, WebDeps } from '../web.ts';
import { RunsPage } from './runs-page.tsx';
import { runsQuery } from './wanted.ts';

const PAGE_RUNS = 25;
const CSV_RUNS_PER_READ = 200;

const onPage = {
  querystring: z.strictObject({ ...runsQuery, page: pageQuery }),
};
const asCsv = { querystring: z.strictObject(runsQuery) };

/** The list of runs, as a page and as CSV. */
export function addRunList(web: Web, deps: WebDeps): void {
  web.get('/runs', { config: { act: 'read' }, schema: onPage }, async (request, reply) => {
    const { page: asked, ...wanted } = request.query;
    const readPage = async (page: number) =>
      await deps.findRuns(wanted, { skip: (page - 1) * PAGE_RUNS, most: PAGE_RUNS });
    const found = await readPage(asked);
    const pages = Math.max(1, Math.ceil(found.total / PAGE_RUNS));
    const page = Math.min(asked, pages);
    // Beyond the last page is the last one.
    const { ids, total } = page === asked ? found : await readPage(page);
    const body = RunsPage({ runs: await readRuns(deps, ids), total, wanted, page, pages });
    return await sendPage(reply, deps, { title: 'Runs', body });
  });

  web.get('/runs.csv', { config: { act: 'read' }, schema: asCsv }, async (request, reply) => {
    const { ids } = await deps.findRuns(request.query, {});
    return sendDownload(reply, { name: 'runs', ending: 'csv', content: runsCsv(deps, ids, request.query.state) });
  });
}

async function readRuns({ app }: WebDeps, ids: readonly string[]): Promise<Run[]> {
  const runs = await Promise.all(ids.map((id) => app.ledger.runs.read(id)));
  return runs.filter((run) => run !== undefined);
}

const FACTS = [
  'run',
  'state',
  'submittedAt',
  'submittedBy',
  'file',
  'sha256',
  'rows',
  'rowsDone',
  'currency',
  'inFile',
];

function isIn(run: Run, state: SoughtState | ''): boolean {
  if (state === 'starts-later') return run.state === 'paused' && run.startAt !== null;
  return state === '' || run.state === state;
}

/** A line for each currency of each run that is still in the state; '' for any. */
async function* runsCsv(deps: WebDeps, ids: readonly string[], state: SoughtState | ''): AsyncGenerator<string, void> {
  yield tableCsv([[...FACTS, ...OUTCOMES]]);
  for (let from = 0; from < ids.length; from += CSV_RUNS_PER_READ) {
    const runs = await readRuns(deps, ids.slice(from, from + CSV_RUNS_PER_READ));
    yield tableCsv(runs.filter((run) => isIn(run, state)).flatMap(csvRows));
  }
}

function csvRows(run: Run): TableCell[][] {
  const facts = [run.id, run.state, { exact: rfc3339(run.createdAt) }, run.createdBy, run.fileName, run.fileSha256];
  return fileTotals(run.fileTotals, run.amounts).map(({ currency, file, outcomes }) => {
    const amounts = [file, ...OUTCOMES.map((outcome) => outcomes[outcome])];
    const cells = amounts.map((minor) => ({ exact: formatAmount({ minor, currency }) }));
    return [...facts, run.rows, rowsDone(run), currency, ...cells];
  });
}
