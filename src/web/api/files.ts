import { createReadStream } from 'node:fs';
import { parse } from 'node:path';
import { z } from 'zod';
import { checkPayoutFile } from '../../intake/check-file.ts';
import { problemsDocument } from '../../intake/problems/document.ts';
import { writeMarkedUpCopy } from '../../intake/problems/marked-up.ts';
import { documentOf } from '../../runs/document.ts';
import { costPreviewOf } from '../../runs/hand-in/submission-options.ts';
import { submitRun } from '../../runs/hand-in/submit.ts';
import { actorOf } from '../actor.ts';
import { sendDownload } from '../download.ts';
import { Problem } from '../problem.ts';
import { driftOf, intakeOptionsOf, stagesOf, startOfUpload } from '../uploads/review.ts';
import { listTemplates } from '../uploads/templates.ts';
import { uploadPath } from '../uploads/upload.ts';
import type { Web, WebDeps } from '../web.ts';
import { problemsReply, runDocument } from './documents.ts';
import { sendProblem } from './operations/faults.ts';
import { fileOptions, withFile } from './operations/incoming.ts';
import { previewReply, readPreview, sampleText } from './runs/preview.ts';
import { claimSubmission } from './runs/submission-key.ts';

const headers = z.looseObject({
  'idempotency-key': z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, 'must have 1 to 255 characters, all of them printable and none a blank')
    .optional()
    .describe('Names this handing in for 30 days: sent again with the same file and options, it comes to the same run'),
});

/** What becomes of a payout file: it is checked, previewed, or handed in. Nothing but the run is kept. */
export function addFileOperations(api: Web, deps: WebDeps): void {
  const { app } = deps;
  const read = { act: 'submit', takesFile: true } as const;

  const check = {
    summary: 'All that is wrong with a payout file',
    querystring: fileOptions,
    response: { 200: problemsReply },
  };
  api.post('/validate', { config: read, schema: check }, (request) =>
    withFile(deps, request, async (upload) => {
      const path = uploadPath(app, upload.id, 'file');
      return problemsDocument(await checkPayoutFile(path, await intakeOptionsOf(app, upload)));
    }),
  );

  const markedUp = {
    summary: 'A payout file with its problems in two more columns',
    querystring: fileOptions,
    response: {
      200: { description: 'The file as CSV', content: { 'text/csv': { schema: z.string() } } },
      204: z.null().describe('There is no such copy: nothing is wrong with it, or what is wrong is with it as a whole'),
    },
  };
  api.post('/validate/marked-up', { config: read, schema: markedUp }, (request, reply) =>
    withFile(deps, request, async (upload) => {
      const path = uploadPath(app, upload.id, 'file');
      const checked = await checkPayoutFile(path, await intakeOptionsOf(app, upload));
      const copy = uploadPath(app, upload.id, 'marked-up.csv');
      if (checked.problemsTotal === 0 || !(await writeMarkedUpCopy(path, checked, copy))) {
        return await reply.status(204).send(null);
      }
      const name = `${parse(upload.name).name}.marked-up`;
      // The file is there until the answer has ended.
      return await sendDownload(reply, { name, ending: 'csv', content: createReadStream(copy) });
    }),
  );

  const preview = {
    summary: 'What a payout file would come to now',
    querystring: fileOptions.extend({ sample: sampleText }),
    response: { 200: previewReply },
  };
  api.post('/preview', { config: { act: 'preview', takesFile: true }, schema: preview }, (request) =>
    withFile(deps, request, (upload) => readPreview(deps, request, { upload, sample: request.query.sample })),
  );

  const templates = z.array(z.object({ file: z.string(), name: z.string(), description: z.string() }));
  const known = { summary: 'The templates that a file may be read with', response: { 200: templates } };
  api.get('/templates', { config: { act: 'read' }, schema: known }, async () => {
    return await listTemplates(deps.settings.templates);
  });

  addSubmit(api, deps);
}

function addSubmit(api: Web, deps: WebDeps): void {
  const { app } = deps;
  const schema = {
    summary: 'Hand in a payout file; 201 for a new run, 200 for one that its content was before',
    headers,
    querystring: fileOptions,
    response: { 200: runDocument, 201: runDocument },
  };
  api.post('/runs', { config: { act: 'submit', takesFile: true }, schema }, async (request, reply) => {
    return await withFile(deps, request, async (upload) => {
      const path = uploadPath(app, upload.id, 'file');
      const actor = actorOf(request);
      const key = await claimSubmission(app, { actor, name: request.headers['idempotency-key'], upload });
      const { skipInvalid, again } = upload.options;
      const submitted = await submitRun(
        { ...app, previewCost: costPreviewOf(app.asker, app) },
        {
          path,
          actor,
          skipInvalid,
          again,
          intake: await intakeOptionsOf(app, upload),
          startAt: startOfUpload(app, upload.options),
          maxCostDriftBp: driftOf(upload.options),
          stages: stagesOf(upload.options),
          key,
        },
      );
      if (submitted.kind === 'refused') {
        return await sendProblem(reply, REFUSED, problemsDocument(submitted.checked));
      }
      const { run, isNew } = submitted;
      reply.status(isNew ? 201 : 200).header('location', `/api/v1/runs/${run.id}`);
      return await reply.send(await documentOf(app, run));
    });
  });
}

const REFUSED = new Problem(
  422,
  'The file is refused: see "problems".',
  'Correct it and send it again; with an Idempotency-Key, under another one.',
);
