import { z } from 'zod';
import { changesCsv, changesJson } from '../../../report/changes.ts';
import { marked, reportCsv } from '../../../report/csv.ts';
import { summaryJson } from '../../../report/document.ts';
import { reportJson } from '../../../report/json.ts';
import { REPORT_COLUMNS } from '../../../report/row.ts';
import { summarise } from '../../../report/summary.ts';
import { reportXlsx } from '../../../report/xlsx/report-xlsx.ts';
import { reportSource } from '../../../runs/after/report.ts';
import { findRetryRows } from '../../../runs/after/retry-file.ts';
import { sendDownload } from '../../download.ts';
import { changesName, sinceGiven, takeChanges } from '../../reports/changes-routes.ts';
import { COPY_NAME, latestLink, noteDownload, takeCopy } from '../../reports/downloads.ts';
import { findRun } from '../../run/find-run.ts';
import type { Web, WebDeps } from '../../web.ts';
import { count, reportDocument, summaryDocument } from '../documents.ts';
import { ofRun } from '../places.ts';

const csv = { 'text/csv': { schema: z.string() } };
const xlsx = { 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': { schema: z.string() } };
const cell = z.string().nullable();
const changesDocument = z.object({
  since: count,
  version: count.describe('The newest'),
  changes: z.array(z.object({ line: count, reference: cell, column: z.enum(REPORT_COLUMNS), from: cell, to: cell })),
});
const bom = z.stringbool().default(false).describe('Whether a CSV file begins with a byte order mark');

/** What is downloaded of a run, of any size. Who took it stands on the audit log, as for pages. */
export function addReportOperations(api: Web, deps: WebDeps): void {
  const { app } = deps;
  // Nothing is taken by a HEAD, and nothing shall be noted for it.
  const noted = { config: { act: 'read' }, exposeHeadRoute: false } as const;

  const querystring = z.strictObject({ format: z.enum(['csv', 'xlsx', 'json', 'summary']).default('csv'), bom });
  const documents = z.union([reportDocument, summaryDocument]);
  const response = {
    200: {
      description: 'The report as the ledger stands now; "summary" says whether it ties, "json" does so at its end',
      content: { ...csv, ...xlsx, 'application/json': { schema: documents } },
    },
  };
  const report = { summary: 'The report of a run', params: ofRun, querystring, response };
  api.get('/runs/:run/report', { ...noted, schema: report }, async (request, reply) => {
    const { id: name } = await findRun(deps, request.params.run);
    const { format, bom: hasMark } = request.query;
    const source = await reportSource(app, name);
    await noteDownload(deps, request, { runId: name, what: format });
    switch (format) {
      case 'csv':
        return sendDownload(reply, { name, ending: 'csv', content: marked(reportCsv(source), { bom: hasMark }) });
      case 'xlsx':
        return sendDownload(reply, { name, ending: 'xlsx', content: reportXlsx(source) });
      case 'json':
        return sendDownload(reply, { name, ending: 'json', content: reportJson(source) });
      case 'summary':
        return await reply.type('application/json; charset=utf-8').send(summaryJson(await summarise(source)));
    }
  });

  const copy = {
    summary: 'A report of a run as it was written when it finished, or its signature (`v1.sig`)',
    params: ofRun.extend({ file: z.string().regex(COPY_NAME).describe('Such as v1.csv') }),
    response: {
      200: {
        description:
          'The file, whose SHA-256 the audit log has; where there is a newer version, Link leads to it as "latest-version"',
        content: { ...csv, 'application/json': { schema: documents }, 'text/plain': { schema: z.string() } },
      },
    },
  };
  api.get('/runs/:run/reports/:file', { ...noted, schema: copy }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const { file } = request.params;
    const copyOf = await takeCopy(deps, request, { run, file });
    return sendDownload(reply.headers(latestLink(run, { file, below: '/api/v1' })), copyOf);
  });

  const retryFile = {
    summary: 'The rows of a run that may be sent again, as a payout file',
    params: ofRun,
    querystring: z.strictObject({ format: z.enum(['csv', 'xlsx']).default('csv'), bom }),
    response: {
      200: { description: 'The payout file', content: { ...csv, ...xlsx } },
      204: z.null().describe('No row may be sent again'),
    },
  };
  api.get('/runs/:run/retry-file', { ...noted, schema: retryFile }, async (request, reply) => {
    const { id } = await findRun(deps, request.params.run);
    const again = await findRetryRows(app, id);
    if (again.rows === 0) return await reply.status(204).send(null);
    await noteDownload(deps, request, { runId: id, what: 'retry-file' });
    const { format, bom: hasMark } = request.query;
    const content = format === 'xlsx' ? again.workbook() : marked(again.text(), { bom: hasMark });
    return sendDownload(reply, { name: `${id}-again`, ending: format, content });
  });
}

/** What changed between two versions of a run's report that were written. */
export function addChangesOperation(api: Web, deps: WebDeps): void {
  const schema = {
    summary: "What changed between an earlier version of a run's report and its newest one",
    params: ofRun,
    querystring: z.strictObject({
      since: sinceGiven.describe('The version to begin with'),
      format: z.enum(['json', 'csv']).default('json'),
    }),
    response: {
      200: {
        description: 'Each cell that changed, in file order; they turn the one version into the other',
        content: { 'application/json': { schema: changesDocument }, ...csv },
      },
    },
  };
  api.get('/runs/:run/changes', { config: { act: 'read' }, exposeHeadRoute: false, schema }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const { since, format } = request.query;
    const { version, changes } = await takeChanges(deps, request, { run, since });
    const content = format === 'csv' ? changesCsv(changes) : changesJson(changes, { since, version });
    return sendDownload(reply, { name: changesName(run, { since, version }), ending: format, content });
  });
}
