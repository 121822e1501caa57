import { z } from 'zod';
import type { App } from '../../app.ts';
import { nameOf } from '../../config/config.ts';
import { previewDocument } from '../../runs/preview/document.ts';
import { previewFile } from '../../runs/preview/preview.ts';
import { withQuotingService } from '../../runs/preview/quoting-service.ts';
import { intakeOptionsOf } from './review.ts';
import { readUploadJson, type Upload, type UploadPlace, uploadPath, writeUploadJson } from './upload.ts';

/** Somebody waits for the page. */
const QUOTING_MS_MAX = 60_000;

const amount = z.string().nullable();
const schema = z.object({
  /** When the quotes were had. */
  at: z.int(),
  sandbox: z.boolean(),
  quotes: z.object({
    asked: z.int(),
    usable: z.int(),
    unquoted: z.int(),
    unasked: z.int(),
    ended: z.object({ code: z.string(), reason: z.string() }).nullable(),
  }),
  funds: z.array(
    z.object({
      currency: z.string(),
      amount: z.string(),
      fees: z.string(),
      needed: z.string(),
      estimate: z.boolean(),
      balance: z.object({ available: amount, short: amount }).nullable().default(null),
    }),
  ),
  arriving: z.array(z.object({ currency: z.string(), amount: z.string(), estimate: z.boolean() })),
  rowsUnpriced: z.int(),
  corridors: z.array(
    z.object({
      corridor: z.string(),
      sourceCurrency: z.string(),
      destinationCurrency: z.string(),
      rows: z.int(),
      quoted: z.int(),
      estimate: z.boolean(),
      sourceAmount: amount,
      destinationAmount: amount,
      fees: z.array(z.object({ amount: z.string(), currency: z.string() })).nullable(),
      rates: z.object({ lowest: z.string(), highest: z.string() }).nullable(),
    }),
  ),
  unquotedRows: z.array(
    z.object({ line: z.int(), reference: z.string(), outcome: z.string(), code: z.string(), reason: z.string() }),
  ),
  time: z.object({ ms: z.number() }).nullable(),
});

/** What an upload would come to if it were paid now: the parts of `previewDocument` that its page shows. */
export type UploadCost = z.infer<typeof schema>;

/**
 * Asks for quotes that are never armed and keeps what they say beside the upload. Throws a
 * Refusal when the service cannot be asked. Of one that was interrupted nothing is kept.
 */
export async function costUpload(
  deps: App,
  upload: Upload,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const { config } = deps;
  const options = {
    intake: await intakeOptionsOf(deps, upload),
    sample: undefined,
    signal,
    timeMsMax: QUOTING_MS_MAX,
  };
  const preview = await withQuotingService(deps, (service) =>
    previewFile({ ...config, ...deps, service, defaults: config }, uploadPath(deps, upload.id, 'file'), options),
  );
  if (signal.aborted) return;
  const facts = { name: nameOf(config.service), sandbox: config.service === undefined };
  const value = schema.parse({ at: deps.clock.now(), ...previewDocument(preview, facts) });
  await writeUploadJson(deps, upload.id, { file: 'cost.json', value });
}

/** What was found out when somebody asked; undefined when nobody did. */
export async function readCost(deps: UploadPlace, { id }: Upload): Promise<UploadCost | undefined> {
  return await readUploadJson(deps, id, { file: 'cost.json', schema });
}
