import { z } from 'zod';
import { rfc3339 } from '../../clock.ts';
import { periodFields } from '../../report/period/period-range.ts';
import { sendDownload } from '../download.ts';
import { sendPage } from '../parts/frame.tsx';
import type { Web, WebDeps } from '../web.ts';
import { PeriodPage } from './period-page.tsx';
import { askedPeriod, openPeriods, takePeriod } from './wanted.ts';

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
  const periods = openPeriods(deps);
  const config = { act: 'read' } as const;

  web.get('/period', { config, exposeHeadRoute: false, schema: onPage }, async (request, reply) => {
    const range = askedPeriod(request.query);
    const report = range === undefined ? undefined : { range, ...(await periods.read(range)) };
    const today = rfc3339(app.clock.now()).slice(0, 10);
    return await sendPage(reply, deps, {
      title: range === undefined ? 'Report of a period' : `Report of ${range.name}`,
      body: PeriodPage({ report, today }),
    });
  });

  // Nothing is taken by a HEAD, and nothing shall be noted for it.
  web.get('/period/download', { config, exposeHeadRoute: false, schema: asFile }, async (request, reply) => {
    return sendDownload(reply, (await takePeriod(deps, request, periods)).file);
  });
}
