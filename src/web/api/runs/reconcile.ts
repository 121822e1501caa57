import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { rfc3339 } from '../../../clock.ts';
import { MATCH_STATUSES } from '../../../report/statement/match.ts';
import { matchCsv, matchJson } from '../../../report/statement/match-report.ts';
import { actorOf } from '../../actor.ts';
import { sendDownload } from '../../download.ts';
import { matchUpload, openStatementLimit, runsText, templateGiven } from '../../reconcile/match-upload.ts';
import { readFileForm } from '../../uploads/form.ts';
import type { Upload } from '../../uploads/upload.ts';
import type { Web, WebDeps } from '../../web.ts';
import { amount, count } from '../documents.ts';
import { takeBody } from '../operations/incoming.ts';

const text = z.string().nullable();
const line = z.object({
  status: z.enum(MATCH_STATUSES),
  why: z.string(),
  runId: text,
  line: count.nullable(),
  reference: text,
  outcome: text,
  paymentId: text,
  amount: amount.nullable(),
  currency: text,
  statementLine: count.nullable(),
  statementDate: text,
  direction: text,
  statementAmount: amount.nullable(),
  statementCurrency: text,
  statementReference: text,
  statementIds: text,
});
const document = z.object({
  runs: z.array(z.string()),
  statement: z.object({ name: z.string(), sha256: z.string(), movements: count }),
  createdAt: z.iso.datetime({ precision: 3 }),
  lines: z.array(line),
  counts: z.object({
    matched: count,
    missing: count,
    different: count,
    extra: count,
    payments: count,
    reconciled: count,
  }),
});
const querystring = z.strictObject({
  run: z
    .union([z.array(z.string()).transform((ids) => ids.join(' ')), z.string()])
    .pipe(runsText)
    .describe('A run; may be given several times'),
  name: z.string().max(1000).optional().describe('The name of the file; its ending tells what it is'),
  template: templateGiven.describe('How a CSV statement looks, as JSON'),
  format: z.enum(['json', 'csv']).default('json'),
});

/** The payments of runs against a statement of the bank, as the page does it. The result is noted with the runs. */
export function addReconcileOperation(api: Web, deps: WebDeps): void {
  const answers = { 'application/json': { schema: document }, 'text/csv': { schema: z.string() } };
  const description =
    'Each payment and each movement, and how they stand to each other; "reconciled" of the runs is set';
  const schema = {
    summary: 'Reconcile runs with a statement of the bank: camt.053, camt.054 or CSV',
    querystring,
    response: { 200: { description, content: answers } },
  };
  const limit = openStatementLimit();
  api.post('/reconcile', { config: { act: 'submit', takesFile: true }, schema }, async (request, reply) => {
    const { run: runs, name, template, format } = request.query;
    const actor = actorOf(request);
    limit(actor, reply);
    const upload = await receive(deps, request, { name, person: actor });
    const { statement, lines, counts } = await matchUpload(deps, { upload, runs, template, actor });
    if (format === 'csv') {
      return sendDownload(reply, { name: `${statement.name}.reconciled`, ending: 'csv', content: matchCsv(lines) });
    }
    const { movements, ...file } = statement;
    const about = {
      runs,
      statement: { ...file, movements: movements.length },
      createdAt: rfc3339(deps.app.clock.now()),
    };
    const json = matchJson(lines, { about, counts });
    return sendDownload(reply, { name: `${statement.name}.reconciled`, ending: 'json', content: json });
  });
}

/** The file of a request, streamed to the disk. */
async function receive(
  { app, settings }: WebDeps,
  request: FastifyRequest,
  { name, person }: { name: string | undefined; person: string },
): Promise<Upload> {
  const deps = { ...app, settings };
  if (!request.isMultipart()) return await takeBody(deps, request, { name, person });
  // The guard has compared the token of a session with the header by now.
  const form = { person, csrf: null, names: [], read: () => undefined };
  return (await readFileForm(request, deps, form)).upload;
}
