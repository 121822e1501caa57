import { z } from 'zod';
import { OUTCOMES } from '../../../payout.ts';
import { DIMENSIONS } from '../../../report/period/period.ts';
import { periodFields } from '../../../report/period/period-range.ts';
import { periodDocument } from '../../../report/period/period-tables.ts';
import { sendDownload } from '../../download.ts';
import { openPeriods, takePeriod } from '../../period/wanted.ts';
import type { Web, WebDeps } from '../../web.ts';
import { amount, count, ofOutcomes, time } from '../documents.ts';

const sums = z.array(z.object({ amount, currency: z.string() }));
const line = z.object({
  by: z.enum(DIMENSIONS),
  name: z.string(),
  currency: z.string(),
  rows: count,
  outcomes: ofOutcomes(count),
  amounts: ofOutcomes(amount),
  debited: sums,
  arrived: sums,
  fees: sums,
  quotedRate: z.string().nullable().describe('The mean of the quoted rates, weighted by what was debited'),
  rate: z.string().nullable().describe('What arrived for one unit of what was debited'),
  rateWithFees: z.string().nullable(),
  secondsToFinal: z.string().nullable(),
});
const document: z.ZodType<ReturnType<typeof periodDocument>> = z.object({
  from: time,
  end: time.describe('The moment before which it ends'),
  createdAt: time,
  runs: z.array(z.string()),
  leftOut: z.array(z.string()).describe('Runs of the period that are in no line: rows removed, or being recorded'),
  earlier: z.array(z.object({ runId: z.string(), outcomes: z.partialRecord(z.enum(OUTCOMES), count) })),
  lines: z.array(line),
  ties: z.boolean(),
  faults: z.array(z.string()),
});
const querystring = z.strictObject({
  ...periodFields,
  format: z.enum(['csv', 'xlsx', 'json']).default('json'),
  bom: z.stringbool().default(false).describe('Whether a CSV file begins with a byte order mark'),
});
const files = {
  'text/csv': { schema: z.string() },
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': { schema: z.string() },
};

/** What the runs of a period add up to. Who took it stands on the audit log. */
export function addPeriodOperation(api: Web, deps: WebDeps): void {
  const description =
    'What the runs that were submitted in the period add up to; "json" says whether it ties. Name a day, a week, a month, or from and to';
  const response = { 200: { description, content: { 'application/json': { schema: document }, ...files } } };
  const schema = { summary: 'The report of a period', querystring, response };
  const config = { act: 'read' } as const;
  const periods = openPeriods(deps);
  api.get('/period', { config, exposeHeadRoute: false, schema }, async (request, reply) => {
    const { report, file } = await takePeriod(deps, request, periods);
    if (file.ending !== 'json') return sendDownload(reply, file);
    return await reply.type('application/json; charset=utf-8').send(periodDocument(report));
  });
}
