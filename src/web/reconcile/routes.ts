import { z } from 'zod';
import { MATCH_STATUSES, type Match } from '../../report/statement/match.ts';
import { matchCsv } from '../../report/statement/match-report.ts';
import { actorOf } from '../actor.ts';
import { sendDownload } from '../download.ts';
import { shownCount } from '../parts/figures.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import { readFileForm } from '../uploads/form.ts';
import type { Web, WebDeps } from '../web.ts';
import { matchUpload, openStatementLimit, runsText, templateGiven } from './match-upload.ts';
import { ReconciledPage, ReconcilePage } from './reconcile-page.tsx';

const PAGE = '/reconcile';
/** More are in the CSV. */
const LINES_SHOWN_MAX = 200;

const ofRun = { querystring: z.strictObject({ run: z.string().max(200).default('') }) };
const form = z.strictObject({
  runs: runsText,
  template: templateGiven,
  format: z.enum(['page', 'csv']).default('page'),
});
const NAMES = ['csrf', ...Object.keys(form.shape)];

/** The payments of runs against a statement of the bank: nothing of the statement is kept, but how far it fits. */
export function addReconcilePages(web: Web, deps: WebDeps): void {
  const { app, settings } = deps;
  const limit = openStatementLimit();

  web.get(PAGE, { config: { act: 'submit' }, schema: ofRun }, async (request, reply) => {
    const { fileBytesMax } = app.config.files;
    const body = ReconcilePage({ run: request.query.run, fileBytesMax });
    return await sendPage(reply, deps, { title: 'Reconcile with the bank', body });
  });

  const config = { act: 'submit', checksCsrf: true, takesFile: true, page: PAGE } as const;
  web.post(PAGE, { config }, async (request, reply) => {
    const actor = actorOf(request);
    limit(actor, reply);
    const sender = { person: actor, csrf: request.who?.csrf ?? null };
    const { upload, options } = await readFileForm(
      request,
      { ...app, settings },
      { ...sender, names: NAMES, read: wantedOf },
    );
    const { statement, lines, counts } = await matchUpload(deps, { ...options, upload, actor });
    if (options.format === 'csv') {
      return sendDownload(reply, { name: `${statement.name}.reconciled`, ending: 'csv', content: matchCsv(lines) });
    }
    const open = await openLines(lines);
    const { reconciled, payments } = counts();
    return await sendPage(reply, deps, {
      title: `Reconciled ${shownCount(reconciled)} of ${shownCount(payments)} payments`,
      body: ReconciledPage({ statement, runs: options.runs, counts: counts(), open }),
    });
  });
}

function wantedOf(fields: unknown): z.infer<typeof form> {
  return readForm(form, fields);
}

/** The first lines that are not matched, after all have been read. */
async function openLines(batches: AsyncIterable<readonly Match[]>): Promise<readonly Match[]> {
  const open: Match[] = [];
  for await (const batch of batches) {
    for (const match of batch) {
      if (match.status !== MATCH_STATUSES[0] && open.length < LINES_SHOWN_MAX) open.push(match);
    }
  }
  return open;
}
