import { z } from 'zod';
import { rfc3339 } from '../../clock.ts';
import { reportCsv } from '../../report/csv.ts';
import { reportJson } from '../../report/json.ts';
import type { ReportSource } from '../../report/source.ts';
import { summarise } from '../../report/summary.ts';
import { summaryText } from '../../report/summary-text.ts';
import { tableCsv } from '../../report/table-csv.ts';
import { reportSource } from '../../runs/report.ts';
import { openReportCopy, type ReportCopy } from '../../runs/report-copy.ts';
import { findRetryRows } from '../../runs/retry-file.ts';
import { actorOf } from '../actor.ts';
import { sendDownload } from '../download.ts';
import { Problem } from '../problem.ts';
import type { Web, WebDeps } from '../web.ts';
import { findRun, ofRun } from './find-run.ts';

const FORMATS = {
  csv: { ending: 'csv', make: reportCsv },
  json: { ending: 'json', make: reportJson },
  summary: { ending: 'txt', make: summaryLines },
} as const;

const nowAs = { ...ofRun, querystring: z.strictObject({ format: z.enum(['csv', 'json', 'summary']).default('csv') }) };
const copyFile = z.string().regex(/^v[1-9][0-9]{0,8}\.(csv|json)$/);
const ofCopy = { params: ofRun.params.extend({ file: copyFile }) };

/** What can be taken away of a run. Who took a report or a retry file stands on the audit log before the first byte goes. */
export function addDownloadRoutes(web: Web, deps: WebDeps): void {
  const { app } = deps;
  const config = { act: 'read' } as const;
  // Nothing is taken by a HEAD, and nothing shall be noted for it.
  const noted = { config, exposeHeadRoute: false } as const;

  web.get('/runs/:run/report', { ...noted, schema: nowAs }, async (request, reply) => {
    const { id } = await findRun(deps, request.params.run);
    const { format } = request.query;
    const { ending, make } = FORMATS[format];
    const source = await reportSource(app, id);
    await noteDownload(deps, { actor: actorOf(request), runId: id, what: format });
    return sendDownload(reply, { name: `${id}.report`, ending, content: make(source) });
  });

  web.get('/runs/:run/reports/:file', { ...noted, schema: ofCopy }, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const { file } = request.params;
    const [version = '', ending = ''] = file.slice(1).split('.');
    const asked = { version: Number.parseInt(version, 10), ending: ending === 'csv' ? 'csv' : 'json' } as const;
    const copy = await openReportCopy(app.config.reportDir, run, asked);
    if (copy.kind !== 'found') throw NO_COPY[copy.kind](`${run.id}.${file}`);
    await noteDownload(deps, { actor: actorOf(request), runId: run.id, what: file });
    const { content, bytes } = copy;
    return sendDownload(reply, { name: `${run.id}.v${version}`, ending: asked.ending, content, bytes });
  });

  web.get('/runs/:run/retry-file', { ...noted, schema: ofRun }, async (request, reply) => {
    const { id } = await findRun(deps, request.params.run);
    const found = await findRetryRows(app, id);
    if (found.rows === 0) {
      const remedy =
        found.open === 0
          ? 'There is nothing to send again.'
          : `${found.open} of its rows are still open: look again later.`;
      throw new Problem(409, `No row of run ${id} may be sent again.`, remedy);
    }
    await noteDownload(deps, { actor: actorOf(request), runId: id, what: 'retry-file' });
    return sendDownload(reply, { name: `${id}.retry`, ending: 'csv', content: found.text() });
  });

  web.get('/runs/:run/history.csv', { config, schema: ofRun }, async (request, reply) => {
    const { id } = await findRun(deps, request.params.run);
    const events = await app.ledger.runs.events(id);
    const rows = events.map(({ at, event, actor, reason }) => [{ exact: rfc3339(at) }, event, actor, reason]);
    const text = tableCsv([['time', 'event', 'by', 'reason'], ...rows]);
    return sendDownload(reply, { name: `${id}.history`, ending: 'csv', content: once(text) });
  });
}

async function noteDownload(
  { app }: WebDeps,
  { actor, runId, what }: { readonly actor: string; readonly runId: string; readonly what: string },
): Promise<void> {
  await app.ledger.audit.append({ actor, action: 'report.downloaded', target: runId, details: { what } });
}

const NO_COPY: Readonly<Record<Exclude<ReportCopy['kind'], 'found'>, (name: string) => Problem>> = {
  'never-written': (name) =>
    new Problem(404, `No report ${name} was written.`, 'The page of the run lists those that were.'),
  elsewhere: (name) =>
    new Problem(
      404,
      `The report ${name} is not in the report folder of this host.`,
      'Look on the host that wrote it, or download the report as it stands now.',
    ),
  altered: (name) =>
    new Problem(
      409,
      `The file ${name} is not the one that was written: its SHA-256 is another.`,
      'Do not use it; download the report as it stands now, and tell whoever runs payrun.',
    ),
};

async function* summaryLines(source: ReportSource): AsyncGenerator<string, void> {
  yield summaryText(await summarise(source));
}

async function* once(text: string): AsyncGenerator<string, void> {
  yield text;
}
