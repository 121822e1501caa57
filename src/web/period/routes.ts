import { z } from 'zod';
import { rfc3339 } from '../../clock.ts';
import { marked } from '../../report/csv.ts';
import { jsonText } from '../../report/json-text.ts';
import { periodFields } from '../../report/period/period-range.ts';
import { periodCsv, periodDocument, periodXlsx } from '../../report/period/period-tables.ts';
import { sendDownload } from '../download.ts';
import { sendPage } from '../parts/frame.tsx';
import { noteDownload } from '../runs/downloads.ts';
import type { Web, WebDeps } from '../web.ts';
import { PeriodPage } from './period-page.tsx';
import { askedPeriod, openPeriods, periodFileName, requirePeriod } from './wanted.ts';

const onPage = { querystring: z.strictObject(periodFields) };
const asFile = {
  querystring: z.strictObject({
    ...periodFields,
    format: z.enum(['csv', 'xlsx', 'json']).default('csv'),
    bom: z.stringbool().default(false),
  }),
};

/** What the runs of a period add up to. The page reads their rows when a period is asked for. */
export function addPeriodPages(web: Web, deps: WebDeps): void {
  const { app } = deps;
  const read = openPeriods(deps);
  const config = { act: 'read' } as const;

  web.get('/period', { config, exposeHeadRoute: false, schema: onPage }, async (request, reply) => {
    const range = askedPeriod(request.query);
    const report = range === undefined ? undefined : { range, ...(await read(range)) };
    const today = rfc3339(app.clock.now()).slice(0, 10);
    return await sendPage(reply, deps, {
      title: range === undefined ? 'Report of a period' : `Report of ${range.name}`,
      body: PeriodPage({ report, today }),
    });
  });

  // Nothing is taken by a HEAD, and nothing shall be noted for it.
  web.get('/period/download', { config, exposeHeadRoute: false, schema: asFile }, async (request, reply) => {
    const { format, bom } = request.query;
    const range = requirePeriod(request.query);
    await noteDownload(deps, request, { runId: 'ledger', what: `period ${range.name}, ${format}` });
    const report = await read(range);
    const name = periodFileName(range);
    switch (format) {
      case 'csv':
        return sendDownload(reply, { name, ending: format, content: marked(alone(periodCsv(report.lines)), { bom }) });
      case 'xlsx':
        return sendDownload(reply, { name, ending: format, content: periodXlsx(report) });
      case 'json':
        return sendDownload(reply, { name, ending: format, content: alone(`${jsonText(periodDocument(report))}\n`) });
    }
  });
}

async function* alone(text: string): AsyncGenerator<string, void> {
  yield text;
}
