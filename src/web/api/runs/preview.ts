import { once } from 'node:events';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { nameOf } from '../../../config/config.ts';
import { foresee } from '../../../runs/hand-in/foresee.ts';
import { foreseenDocument, foreseenSchema } from '../../../runs/hand-in/foreseen-document.ts';
import { previewDocument } from '../../../runs/preview/document.ts';
import { previewFile } from '../../../runs/preview/preview.ts';
import { withQuotingService } from '../../../runs/preview/quoting-service.ts';
import { hasRowsToPay, intakeOptionsOf, startOfUpload } from '../../uploads/review.ts';
import { type Upload, uploadPath } from '../../uploads/upload.ts';
import type { WebDeps } from '../../web.ts';
import { amount, balance, count, documentNames, problemsMembers } from '../documents.ts';

/** Somebody waits for the answer. */
const QUOTING_MS_MAX = 60_000;

const text = z.string();
const figures = z.object({ currency: text, amount, estimate: z.boolean() });

const corridor = z.object({
  corridor: text,
  sourceCurrency: text,
  destinationCurrency: text,
  amountType: text,
  thirdParty: z.boolean(),
  rows: count,
  amount,
  quoted: count,
  unquoted: count,
  payable: count,
  estimate: z.boolean(),
  sourceAmount: amount.nullable(),
  destinationAmount: amount.nullable(),
  fees: z.array(z.object({ amount, currency: text })).nullable(),
  rates: z.object({ lowest: text, highest: text }).nullable(),
});

const time = z.object({
  ms: z.number(),
  basis: z.enum(['rate', 'latency']),
  ratePerSecond: z.number().nullable(),
  quoteMs: z.number().nullable(),
  concurrency: count,
});

/** What `preview --json` prints. */
export const previewReply: z.ZodType<object> = z.object({
  ...problemsMembers,
  sha256: text,
  service: text,
  sandbox: z.boolean(),
  quotes: z.object({
    sample: z.union([count, z.literal('all')]),
    asked: count,
    usable: count,
    unquoted: count,
    unasked: count,
    ended: z.object({ code: text, reason: text }).nullable(),
  }),
  funds: z.array(figures.extend({ fees: amount, needed: amount, balance })),
  arriving: z.array(figures),
  rowsUnpriced: count,
  corridors: z.array(corridor),
  unquotedRows: z.array(
    z.object({ line: count, reference: text, amount, currency: text, outcome: text, code: text, reason: text }),
  ),
  time: time.nullable(),
  costBasis: z.record(text, z.object({ mean: text, worst: text })),
  /** What the ledger knows against the valid rows; null where there are none, or the file is refused as a whole. */
  foreseen: foreseenSchema.nullable(),
});
documentNames.add(foreseenSchema, { id: 'Foreseen' }).add(previewReply, { id: 'Preview' });

/** Rows of each corridor that are quoted. */
export const sampleText = z
  .string()
  .regex(/^(?:all|[1-9][0-9]{0,2}|1000)$/, 'must be all, or a number of rows from 1 to 1000')
  .transform((given) => (given === 'all' ? ('all' as const) : Number.parseInt(given, 10)))
  .optional();

/** What a file would come to now, from quotes that are never armed; whoever hangs up ends the asking. */
export async function readPreview(
  { app }: WebDeps,
  request: FastifyRequest,
  { upload, sample }: { upload: Upload; sample: z.infer<typeof sampleText> },
): Promise<object> {
  const { config } = app;
  const over = new AbortController();
  void once(request.socket, 'close', { signal: over.signal }).then(
    () => over.abort(),
    () => {},
  );
  const options = {
    intake: await intakeOptionsOf(app, upload),
    sample,
    signal: over.signal,
    timeMsMax: QUOTING_MS_MAX,
  };
  const path = uploadPath(app, upload.id, 'file');
  try {
    const preview = await withQuotingService(app, (service) =>
      previewFile({ ...config, ...app, service, defaults: config }, path, options),
    );
    const { checked } = preview;
    const ahead = { path, checked, again: upload.options.again, startAt: startOfUpload(app, upload.options) };
    const foreseen = hasRowsToPay(checked) ? await foresee({ ...app, identities: undefined }, ahead) : null;
    const facts = { name: nameOf(config.service), sandbox: config.service === undefined };
    return { ...previewDocument(preview, facts), foreseen: foreseen && foreseenDocument(foreseen) };
  } finally {
    over.abort();
  }
}
