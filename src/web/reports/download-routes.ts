import { z } from 'zod';
import { rfc3339 } from '../../clock.ts';
import { marked, reportCsv } from '../../report/csv.ts';
import { reportJson } from '../../report/json.ts';
import type { ReportSource } from '../../report/source.ts';
import { summarise } from '../../report/summary.ts';
import { summaryText } from '../../report/summary-text.ts';
import { reportXlsx } from '../../report/xlsx/report-xlsx.ts';
import { reportSource } from '../../runs/after/report.ts';
import { signedVersions } from '../../runs/after/report-copy.ts';
import { findRetryRows } from '../../runs/after/retry-file.ts';
import { sendDownload, sendTable } from '../download.ts';
import { sendPrintPage } from '../parts/print-page.tsx';
import { Problem } from '../problem.ts';
import { findRun, ofRun } from '../run/find-run.ts';
import { outcomeRows, reportRows, tieRows } from '../run/table-rows.ts';
import type { Web, WebDeps } from '../web.ts';
import { COPY_NAME, latestLink, noteDownload, takeCopy } from './downloads.ts';
import { PrintedReport, readPrinted } from './printed-report.tsx';

const FORMATS = {
  csv: { ending: 'csv', make: (source: ReportSource, bom: boolean) => marked(reportCsv(source), { bom }) },
  xlsx: { ending: 'xlsx', make: reportXlsx },
  json: { ending: 'json', make: reportJson },
  summary: { ending: 'txt', make: summaryLines },
} as const;

/** Tables of the page of a run. */
const TABLES = { outcomes: outcomeRows, tie: tieRows };

const bom = z.stringbool().default(false);
const formats = z.enum(['csv', 'xlsx', 'json', 'summary']).default('csv');
const nowAs = { ...ofRun, querystring: z.strictObject({ format: formats, bom }) };
const againAs = { ...ofRun, querystring: z.strictObject({ format: z.enum(['csv', 'xlsx']).default('csv'), bom }) };
const ofCopy = { params: ofRun.params.extend({ file: z.string().regex(COPY_NAME) }) };

/** What can be taken away of a run. Who took a report or a retry file stands on the audit log before the first byte goes. */
export function addDownloadRoutes(web: Web, deps: WebDeps): void {
  const { app } = deps;
  const config = { act: 'read' } as const;
  // Nothing is taken by a HEAD, and nothing shall be noted for it.
  const noted = { config, exposeHeadRoute: false } as const;

  web.get('/runs/:run/report', { ...noted, schema: nowAs }, async (request, reply) => {
    const { id } = await findRun(deps, request.params.run);
    const { format, bom: hasMark } = request.query;
    const { ending, make } = FORMATS[format];
    const source = await reportSource(app, id);
    await noteDownload(deps, request, { runId: id, what: format });
    return sendDownload(reply, { name: `${id}.report`, ending, content: make(source, hasMark) });
  });

  web.get('/runs/:run/printed', { ...noted, schema: ofRun }, async (request, reply) => {
    const { id } = await findRun(deps, request.params.run);
    const printed = await readPrinted(await reportSource(app, id));
    await noteDownload(deps, request, { runId: id, what: 'printed' });
    return sendPrintPage(reply, deps, { title: `Report of run ${id}`, body: PrintedReport(printed) });
  });

  web.get('/runs/:run/reports/:file', { ...noted, schema: ofCopy }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const { file } = request.params;
    const copy = await takeCopy(deps, request, { run, file });
    return sendDownload(reply.headers(latestLink(run, { file, below: '' })), copy);
  });

  web.get('/runs/:run/retry-file', { ...noted, schema: againAs }, async (request, reply) => {
    const { id } = await findRun(deps, request.params.run);
    const found = await findRetryRows(app, id);
    if (found.rows === 0) {
      const remedy =
        found.open === 0
          ? 'There is nothing to send again.'
          : `${found.open} of its rows are still open: look again later.`;
      throw new Problem(409, `No row of run ${id} may be sent again.`, remedy);
    }
    await noteDownload(deps, request, { runId: id, what: 'retry-file' });
    const { format, bom: hasMark } = request.query;
    const content = format === 'xlsx' ? found.workbook() : marked(found.text(), { bom: hasMark });
    return sendDownload(reply, { name: `${id}.retry`, ending: format, content });
  });

  web.get('/runs/:run/history.csv', { config, schema: ofRun }, async (request, reply) => {
    const { id } = await findRun(deps, request.params.run);
    const events = await app.ledger.runs.events(id);
    const rows = events.map(({ at, event, actor, reason }) => [{ exact: rfc3339(at) }, event, actor, reason]);
    return sendTable(reply, `${id}.history`, [['time', 'event', 'by', 'reason'], ...rows]);
  });

  web.get('/runs/:run/reports.csv', { config, schema: ofRun }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    return sendTable(reply, `${run.id}.reports`, reportRows(run, await signedVersions(app.config.reportDir, run)));
  });

  for (const [table, rowsOf] of Object.entries(TABLES)) {
    web.get(`/runs/:run/${table}.csv`, { config, schema: ofRun }, async (request, reply) => {
      const run = await findRun(deps, request.params.run);
      return sendTable(reply, `${run.id}.${table}`, rowsOf(run));
    });
  }
}

async function* summaryLines(source: ReportSource): AsyncGenerator<string, void> {
  yield summaryText(await summarise(source));
}
