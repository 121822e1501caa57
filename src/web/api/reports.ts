import { z } from 'zod';
import { reportCsv } from '../../report/csv.ts';
import { summaryJson } from '../../report/document.ts';
import { reportJson } from '../../report/json.ts';
import { reportSource, summariseRun } from '../../runs/report.ts';
import { findRetryRows } from '../../runs/retry-file.ts';
import { sendDownload } from '../download.ts';
import { findRun } from '../runs/find-run.ts';
import type { Web, WebDeps } from '../web.ts';
import { summaryDocument } from './documents.ts';
import { ofRun } from './places.ts';

const csv = { 'text/csv': { schema: z.string() } };

/** What is downloaded of a run, of any size. */
export function addReportOperations(api: Web, deps: WebDeps): void {
  const { app } = deps;
  const read = { act: 'read' } as const;

  const querystring = z.strictObject({ format: z.enum(['csv', 'json', 'summary']).default('csv') });
  const documents = z.union([summaryDocument, z.looseObject({ rows: z.array(z.unknown()) })]);
  const response = {
    200: {
      description: 'The report as the ledger stands now; "summary" tells whether it ties, "json" does so at its end',
      content: { ...csv, 'application/json': { schema: documents } },
    },
  };
  const report = { summary: 'The report of a run', params: ofRun, querystring, response };
  api.get('/runs/:run/report', { config: read, schema: report }, async ({ params, query }, reply) => {
    const { id: name } = await findRun(deps, params.run);
    switch (query.format) {
      case 'csv':
        return sendDownload(reply, { name, ending: 'csv', content: reportCsv(await reportSource(app, name)) });
      case 'json':
        return sendDownload(reply, { name, ending: 'json', content: reportJson(await reportSource(app, name)) });
      case 'summary':
        return await reply.type('application/json; charset=utf-8').send(summaryJson(await summariseRun(app, name)));
    }
  });

  const retryFile = {
    summary: 'The rows of a run that may be sent again, as a payout file',
    params: ofRun,
    response: {
      200: { description: 'The payout file', content: csv },
      204: z.null().describe('No row may be sent again'),
    },
  };
  api.get('/runs/:run/retry-file', { config: read, schema: retryFile }, async ({ params }, reply) => {
    const { id } = await findRun(deps, params.run);
    const again = await findRetryRows(app, id);
    if (again.rows === 0) return await reply.status(204).send(null);
    return sendDownload(reply, { name: `${id}-again`, ending: 'csv', content: again.text() });
  });
}
