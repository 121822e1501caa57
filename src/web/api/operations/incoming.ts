import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { stageSizes } from '../../../config/stages.ts';
import { totalText, writtenTotal } from '../../../intake/written-totals.ts';
import { actorOf } from '../../actor.ts';
import { readUploadForm, stageOptions } from '../../uploads/form.ts';
import { keepTemplate, requireSense } from '../../uploads/review.ts';
import { stageUpload, tooLarge } from '../../uploads/staging.ts';
import { removeUpload, type Upload, type UploadOptions } from '../../uploads/upload.ts';
import type { WebDeps } from '../../web.ts';
import { FILE_TYPES, refuseType } from '../bodies.ts';

const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((text) => text === 'true');
/** How a payout file is to be read, as the address says it. A form in parts says it in its fields instead. */
export const fileOptions = z.strictObject({
  name: z.string().max(1000).optional().describe('The name of the file; its ending says what it is'),
  template: z.string().max(255).optional().describe('A file of the templates'),
  expectRows: z.coerce.number('must be a number').int().min(0).max(999_999_999).optional(),
  expectTotal: z
    .preprocess((given) => (typeof given === 'string' ? [given] : given), z.array(totalText).max(200))
    .default([])
    .describe('A currency and its total, such as USD=1234.56; one for each currency'),
  skipInvalid: flag.describe('Pay the valid rows although others are refused'),
  again: flag.describe('Pay the same rows anew, when none of them was paid'),
  at: z.string().max(40).optional().describe('When to start: an RFC 3339 time, HH:MM with a zone, or schedule'),
  zone: z.string().max(64).optional(),
  stage: stageSizes.optional().describe('The stages in which it is paid, such as 10,100,rest or 1%,rest'),
  goOnIfPaid: flag.describe('With stages: go on by itself after one in which every payout was paid'),
  maxCostDrift: z.coerce.number('must be a number').int().min(0).max(99_999).optional().describe('In basis points'),
});

interface FileRequest extends FastifyRequest {
  query: z.infer<typeof fileOptions>;
}

/** Streams the file of a request to the disk, lets a task use it, and removes it again, whatever becomes of it. */
export async function withFile<T>(
  { app, settings }: WebDeps,
  request: FileRequest,
  task: (upload: Upload) => Promise<T>,
): Promise<T> {
  const deps = { ...app, settings };
  const { upload, options } = await receive(deps, request);
  try {
    requireSense(deps, options);
    await keepTemplate(deps, upload, options);
    return await task({ ...upload, options });
  } finally {
    await removeUpload(app, upload.id);
  }
}

type Deps = Parameters<typeof readUploadForm>[1];

async function receive(deps: Deps, request: FileRequest): Promise<{ upload: Upload; options: UploadOptions }> {
  const person = actorOf(request);
  // The guard has compared the token of a session with the header by now.
  if (request.isMultipart()) return await readUploadForm(request, deps, { person, csrf: null });
  const { query } = request;
  return { upload: await takeBody(deps, request, { name: query.name, person }), options: optionsOf(query) };
}

/** Streams the body of a request to the disk; a file without a name is called by what it is. */
export async function takeBody(
  deps: Deps,
  { body, headers }: Pick<FastifyRequest, 'body' | 'headers'>,
  { name, person }: { readonly name: string | undefined; readonly person: string },
): Promise<Upload> {
  if (!(body instanceof Readable)) throw refuseType(true);
  const { fileBytesMax } = deps.config.files;
  if (Number(headers['content-length'] ?? 0) > fileBytesMax) throw tooLarge(fileBytesMax);
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return await stageUpload(deps, { bytes: body, name: name ?? `payouts.${FILE_TYPES[type] ?? 'csv'}`, person });
}

function optionsOf(query: z.infer<typeof fileOptions>): UploadOptions {
  const { template, expectRows, expectTotal, skipInvalid, again, at, zone, maxCostDrift, stage, goOnIfPaid } = query;
  return {
    template: template ?? null,
    skipInvalid,
    again,
    expectRows: expectRows ?? null,
    expectTotals: expectTotal.map(writtenTotal),
    at: at ?? null,
    zone: zone ?? null,
    ...stageOptions(stage ?? '', goOnIfPaid),
    maxCostDriftBp: maxCostDrift ?? null,
  };
}
