import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { parse } from 'node:path';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { isSamePerson } from '../../access/same-person.ts';
import { moneyOfDecimal } from '../../money.ts';
import { problemsCsv } from '../../report/problems-csv.ts';
import { problemsXlsx } from '../../report/xlsx/problems-xlsx.ts';
import { approvalsNeeded } from '../../runs/decide/approval.ts';
import { sendDownload, sendTable } from '../download.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm, readNoFields } from '../parts/read-form.ts';
import { Problem } from '../problem.ts';
import type { Person, Web, WebDeps } from '../web.ts';
import { costUpload, readCost } from './cost.ts';
import { type Costing, openCosting } from './costing.ts';
import { readUploadForm } from './form.ts';
import { handInUpload, keepUploads } from './hand-in.ts';
import { hasRowsToPay, type Review, readForeseen, readReview, reviewUpload } from './review.ts';
import { KnownPage, ReviewPage } from './review-page.tsx';
import { COST_TABLES, EXAMPLE_ROWS, stoppedRows, totalRows, uploadRows } from './table-rows.ts';
import { listTemplates } from './templates.ts';
import { listUploads, maySee, readUpload, removeUpload, type Upload, uploadPath } from './upload.ts';
import { UploadPage } from './upload-page.tsx';

const UPLOAD = { act: 'submit', checksCsrf: true, takesFile: true, page: '/upload' } as const;
const ofUpload = { params: z.object({ id: z.uuid() }) };
const handInForm = z.strictObject({ skipInvalid: z.literal('yes').optional() });

/** The pages by which a payout file is uploaded, reviewed and handed in; and the keeping of what was left behind. */
export function addUploadPages(web: Web, deps: WebDeps): void {
  const { app, settings } = deps;
  const uploading = { ...app, settings };
  keepWhileListening(web, (stop) => keepUploads(uploading, stop));
  const costing = openCosting(app);
  web.addHook('onClose', () => costing.close());

  web.get('/upload', { config: { act: 'submit' } }, async (request, reply) => {
    const who = whoOf(request);
    const body = UploadPage({
      templates: await listTemplates(settings.templates),
      uploads: await listSeen(deps, who),
      fileBytesMax: app.config.files.fileBytesMax,
      canLimitCost: app.asker !== undefined,
    });
    return await sendPage(reply, deps, { title: 'Upload', body });
  });

  web.get('/upload/example.csv', { config: { act: 'submit' } }, async (_request, reply) => {
    return sendTable(reply, 'example', EXAMPLE_ROWS);
  });

  web.get('/uploads.csv', { config: { act: 'submit' } }, async (request, reply) => {
    return sendTable(reply, 'uploads', uploadRows(await listSeen(deps, whoOf(request))));
  });

  web.post('/upload', { config: UPLOAD }, async (request, reply) => {
    const { name: person, csrf } = whoOf(request);
    const { upload, options } = await readUploadForm(request, uploading, { person, csrf });
    const reviewed = await reviewUpload(uploading, upload, options);
    if (hasRowsToPay(await findReview(deps, reviewed))) await costing.begin(reviewed);
    return await reply.redirect(`/uploads/${upload.id}`, 303);
  });

  web.get('/uploads/:id', { config: { act: 'submit' }, schema: ofUpload }, async (request, reply) => {
    const upload = await findUpload(deps, request);
    if (upload.state === 'recorded') {
      if (upload.isNew) return await reply.redirect(`/runs/${upload.runId}`, 303);
      return await sendPage(reply, deps, { title: upload.name, body: KnownPage({ upload }) });
    }
    const review = await findReview(deps, upload);
    const foreseen = await readForeseen(app, upload);
    const shown = [...(foreseen?.first ?? []), ...(foreseen?.largest ?? [])];
    const body = ReviewPage({
      upload,
      review,
      foreseen,
      names: await app.ledger.names.read(shown.map(({ beneficiaryIdentityId }) => beneficiaryIdentityId)),
      cost: await readCost(app, upload),
      costing: costing.stateOf(upload.id),
      approvals: approvalsOf(deps, review),
      isOwn: isSamePerson(upload.person, whoOf(request).name),
    });
    return await sendPage(reply, deps, { title: upload.name, body });
  });

  addUploadFiles(web, deps);
  addUploadActs(web, deps, costing);
}

function addUploadFiles(web: Web, deps: WebDeps): void {
  web.get('/uploads/:id/problems.csv', { config: { act: 'submit' }, schema: ofUpload }, async (request, reply) => {
    const upload = await findUpload(deps, request);
    const content = Readable.from([problemsCsv(await findReview(deps, upload))]);
    return sendDownload(reply, { name: `${parse(upload.name).name}.problems`, ending: 'csv', content });
  });

  web.get('/uploads/:id/problems.xlsx', { config: { act: 'submit' }, schema: ofUpload }, async (request, reply) => {
    const upload = await findUpload(deps, request);
    const about = { name: upload.name, createdAt: deps.app.clock.now() };
    const content = problemsXlsx(await findReview(deps, upload), about);
    return sendDownload(reply, { name: `${parse(upload.name).name}.problems`, ending: 'xlsx', content });
  });

  web.get('/uploads/:id/totals.csv', { config: { act: 'submit' }, schema: ofUpload }, async (request, reply) => {
    const upload = await findUpload(deps, request);
    return sendTable(reply, `${parse(upload.name).name}.totals`, totalRows(await findReview(deps, upload)));
  });

  web.get('/uploads/:id/not-paid.csv', { config: { act: 'submit' }, schema: ofUpload }, async (request, reply) => {
    const upload = await findUpload(deps, request);
    const rows = stoppedRows(await readForeseen(deps.app, upload));
    return sendTable(reply, `${parse(upload.name).name}.not-paid`, rows);
  });

  for (const [table, rowsOf] of Object.entries(COST_TABLES)) {
    web.get(`/uploads/:id/${table}.csv`, { config: { act: 'submit' }, schema: ofUpload }, async (request, reply) => {
      const upload = await findUpload(deps, request);
      return sendTable(reply, `${parse(upload.name).name}.${table}`, rowsOf(await readCost(deps.app, upload)));
    });
  }

  web.get('/uploads/:id/marked-up.csv', { config: { act: 'submit' }, schema: ofUpload }, async (request, reply) => {
    const upload = await findUpload(deps, request);
    if (!(await findReview(deps, upload)).hasMarkedUpCopy) {
      throw new Problem(404, 'There is no marked-up copy of this file.', 'Its page lists its problems.');
    }
    const path = uploadPath(deps.app, upload.id, 'marked-up.csv');
    const { size: bytes } = await stat(path);
    const name = `${parse(upload.name).name}.marked-up`;
    return sendDownload(reply, { name, ending: 'csv', content: createReadStream(path), bytes });
  });
}

function addUploadActs(web: Web, deps: WebDeps, costing: Costing): void {
  const { app, settings } = deps;

  web.post('/uploads/:id/cost', { config: { act: 'preview' }, schema: ofUpload }, async (request, reply) => {
    const upload = await findUpload(deps, request);
    readNoFields(request.body);
    await findReview(deps, upload);
    await costing.stop(upload.id);
    await costUpload(app, upload);
    return await reply.redirect(`/uploads/${upload.id}#cost`, 303);
  });

  web.post('/uploads/:id/hand-in', { config: { act: 'submit' }, schema: ofUpload }, async (request, reply) => {
    const upload = await findUpload(deps, request);
    // Else an admin could hand in as another person, and then approve it (docs/security.md).
    if (!isSamePerson(upload.person, whoOf(request).name)) {
      throw new Problem(403, 'Only who uploaded a file hands it in.', 'Upload it yourself to hand it in as yourself.');
    }
    const { skipInvalid } = readForm(handInForm, request.body);
    // What asks for its cost reads the file, which goes.
    await costing.stop(upload.id);
    const { state, isNew, runId } = await handInUpload({ ...app, settings }, upload, skipInvalid === 'yes');
    const isRun = state === 'recorded' && isNew;
    return await reply.redirect(isRun ? `/runs/${runId}` : `/uploads/${upload.id}`, 303);
  });

  web.post('/uploads/:id/discard', { config: { act: 'submit' }, schema: ofUpload }, async (request, reply) => {
    const upload = await findUpload(deps, request);
    readNoFields(request.body);
    if (upload.state === 'handed-in') {
      throw new Problem(409, 'This file was handed in and is being recorded.', 'Cancel its run instead.');
    }
    await costing.stop(upload.id);
    await removeUpload(app, upload.id);
    return await reply.redirect('/upload', 303);
  });
}

function whoOf({ who }: { readonly who: Person | null }): Person {
  if (who === null) throw new Error('the guard let somebody through without a name');
  return who;
}

/** The upload that a path names. Throws a Problem (404) when there is none, or none that this person may see. */
async function findUpload(
  { app }: WebDeps,
  request: { readonly who: Person | null; readonly params: { readonly id: string } },
): Promise<Upload> {
  const upload = await readUpload(app, request.params.id);
  if (upload !== undefined && maySee(upload, whoOf(request))) return upload;
  throw new Problem(404, 'There is no such upload.', 'The upload page shows those that wait; each is kept for a day.');
}

async function findReview({ app }: WebDeps, upload: Upload): Promise<Review> {
  const review = await readReview(app, upload);
  if (review !== undefined) return review;
  if (upload.state === 'receiving') {
    throw new Problem(409, 'This file is not checked yet.', 'Load the page again in a moment.');
  }
  throw new Problem(404, 'This file is not here any more.', 'It is a run: the list of runs shows it.');
}

function approvalsOf({ app }: WebDeps, { totals }: Review): number {
  const money = totals.flatMap(({ currency, amount }) => moneyOfDecimal(amount, currency) ?? []);
  return approvalsNeeded(app.config.approval, money);
}

async function listSeen({ app }: WebDeps, who: Person): Promise<Upload[]> {
  return (await listUploads(app)).filter((upload) => maySee(upload, who));
}

/** Runs something from when the server listens until it closes, which waits for its end. */
function keepWhileListening(web: Web, keep: (stop: AbortSignal) => Promise<void>): void {
  const stop = new AbortController();
  let keeping = Promise.resolve();
  web.addHook('onListen', async () => {
    keeping = keep(stop.signal);
  });
  web.addHook('onClose', async () => {
    stop.abort();
    await keeping;
  });
}
