import type { Multipart, MultipartFile } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { stageSizes } from '../../config/stages.ts';
import { requireCsrf } from '../guard.ts';
import { labelOf, readForm } from '../parts/read-form.ts';
import { Problem } from '../problem.ts';
import { stageUpload, tooLarge } from './staging.ts';
import { removeUpload, type Upload, type UploadDeps, type UploadOptions } from './upload.ts';

const FIELDS = [
  'csrf',
  'template',
  'expectRows',
  'expectTotals',
  'skipInvalid',
  'start',
  'at',
  'zone',
  'stage',
  'goOnIfPaid',
  'maxCostDrift',
  'again',
];
type Fields = Record<string, string>;

/** More fields and files than the form has, so that the one too many can be named. */
const LIMITS = { fields: 16, files: 2, parts: 18, fieldSize: 16 * 1024, fieldNameSize: 100, headerPairs: 20 };
/** What a form has besides its file. */
const FORM_BYTES_MAX = 512 * 1024;

/** Who sends a form in parts. */
export interface FormSender {
  readonly person: string;
  /** What the form has to repeat before its file; null for a program, which brings a key. */
  readonly csrf: string | null;
}

/** Reads the form of the upload page. See `readFileForm` for what it throws. */
export async function readUploadForm(
  request: FastifyRequest,
  deps: UploadDeps,
  sender: FormSender,
): Promise<{ upload: Upload; options: UploadOptions }> {
  return await readFileForm(request, deps, { ...sender, names: FIELDS, read: optionsOf });
}

/** Who sends a form, which fields it may have, and what they come to. */
interface FileForm<T> extends FormSender {
  readonly names: readonly string[];
  readonly read: (fields: Readonly<Fields>) => T;
}

/**
 * Reads a form in parts: its fields, and its one file, which is staged as it comes. The token comes before the file, so that
 * nothing of a forged form is kept. Throws a Problem, and leaves nothing on the disk, for a form that is not ours.
 */
export async function readFileForm<T>(
  request: FastifyRequest,
  deps: UploadDeps,
  { names, read, ...sender }: FileForm<T>,
): Promise<{ upload: Upload; options: T }> {
  requireSize(request, deps);
  const received: Received = { names, fields: {}, upload: undefined, fault: undefined };
  // A form that is refused shows again what it said.
  request.body = received.fields;
  try {
    for await (const part of partsOf(request)) {
      requireToken(part, received.fields, sender);
      await takePart(deps, received, { part, person: sender.person });
    }
    if (received.fault !== undefined) throw received.fault;
    if (received.upload === undefined) throw noFile();
    return { upload: received.upload, options: read(received.fields) };
  } catch (error) {
    if (received.upload !== undefined) await removeUpload(deps, received.upload.id);
    // What is still coming is read and dropped: a browser shows the answer once it has sent everything.
    request.raw.unpipe();
    request.raw.resume();
    throw received.fault ?? error;
  }
}

/** What came of a form so far. */
interface Received {
  /** Of the fields that it may have. */
  readonly names: readonly string[];
  readonly fields: Fields;
  upload: Upload | undefined;
  /** Why the form is refused; it is read to its end all the same, for fields follow the file. */
  fault: Error | undefined;
}

async function takePart(
  deps: UploadDeps,
  received: Received,
  { part, person }: { part: Multipart; person: string },
): Promise<void> {
  try {
    if (part.type === 'field') takeField(received, part);
    else received.upload = await takeFile(deps, part, { upload: received.upload, person });
  } catch (error) {
    received.fault ??= error instanceof Error ? error : new Error('a part of a form was not taken', { cause: error });
  }
}

async function takeFile(
  deps: UploadDeps,
  part: MultipartFile,
  { upload, person }: { upload: Upload | undefined; person: string },
): Promise<Upload> {
  try {
    requireOnlyFile(part, upload);
    const bytes = part.file.iterator({ destroyOnReturn: false });
    return await stageUpload(deps, { bytes, name: part.filename, person });
  } finally {
    part.file.resume();
  }
}

function requireSize({ headers }: FastifyRequest, { config: { files } }: UploadDeps): void {
  const bytes = Number(headers['content-length'] ?? 0);
  if (bytes > files.fileBytesMax + FORM_BYTES_MAX) throw tooLarge(files.fileBytesMax);
}

/** The first part of a form from a page is its token. */
function requireToken(part: Multipart, { csrf: seen }: Readonly<Fields>, { csrf }: FormSender): void {
  if (csrf === null || seen !== undefined) return;
  requireCsrf(csrf, part.type === 'field' && part.fieldname === 'csrf' ? part.value : undefined);
}

/** The parts; what is wrong with their form becomes a Problem. */
async function* partsOf(request: FastifyRequest) {
  try {
    yield* request.parts({ limits: { ...LIMITS, fileSize: Number.POSITIVE_INFINITY } });
  } catch (error) {
    const status = statusOf(error);
    if (status === 413) throw new Problem(413, 'The form has too many parts.', 'Send it from the upload page.');
    if (status === 406) throw new Problem(415, 'A file comes in a form of parts.', 'Send it as multipart/form-data.');
    throw new Problem(400, 'The form did not arrive whole.', 'Send it again from the upload page.');
  }
}

function statusOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'statusCode' in error ? error.statusCode : undefined;
}

interface Field {
  readonly fieldname: string;
  readonly value: unknown;
  readonly valueTruncated: boolean;
  readonly fieldnameTruncated: boolean;
}

function takeField({ names, fields }: Received, { fieldname, value, valueTruncated, fieldnameTruncated }: Field): void {
  const name = names.find((known) => known === fieldname);
  if (name === undefined || fieldnameTruncated || typeof value !== 'string') {
    throw new Problem(400, 'The form has a field that is not known here.', 'Send it from the upload page.');
  }
  if (valueTruncated)
    throw new Problem(413, `The field "${labelOf(name)}" is too long.`, 'Write less into it.', {
      [name]: 'It is too long.',
    });
  if (fields[name] !== undefined) {
    throw new Problem(400, `The form has the field "${labelOf(name)}" twice.`, 'Send it from the upload page.');
  }
  fields[name] = value;
}

function requireOnlyFile(part: { fieldname: string; filename: string | undefined }, upload: Upload | undefined): void {
  if (part.fieldname !== 'file') {
    throw new Problem(400, 'The form has a file that is not known here.', 'Send it from the upload page.');
  }
  if (upload !== undefined) throw new Problem(400, 'The form has two files.', 'Upload one file at a time.');
  if (part.filename === undefined || part.filename === '') throw noFile();
}

function noFile(): Problem {
  const remedy = 'Choose the payout file on the upload page.';
  return new Problem(400, 'No file was chosen.', remedy, { file: 'It must be chosen.' });
}

const isTicked = z.enum(['yes', ''], 'must be yes or empty').transform((text) => text === 'yes');
const noMoreThan = (characters: number) =>
  z.string().trim().max(characters, `must have at most ${characters} characters`);
/** Of a form in which stages may be named. */
export const stageFields = {
  stage: z.literal('').or(stageSizes).default(''),
  goOnIfPaid: isTicked.default(false),
};

const schema = z.object({
  template: noMoreThan(255).default(''),
  expectRows: z
    .string()
    .trim()
    .regex(/^[0-9]{0,9}$/, 'must be a number of rows, such as 250')
    .default(''),
  expectTotals: noMoreThan(8000).default(''),
  skipInvalid: isTicked.default(false),
  start: z.enum(['now', 'at', 'schedule'], 'must be now, at or schedule').default('now'),
  at: noMoreThan(40).default(''),
  zone: noMoreThan(64).default(''),
  ...stageFields,
  maxCostDrift: z
    .string()
    .trim()
    .regex(/^[0-9]{0,5}$/, 'must be a number of basis points, such as 25')
    .default(''),
  again: isTicked.default(false),
});

function optionsOf(fields: Readonly<Fields>): UploadOptions {
  const { template, expectRows, expectTotals, start, at, zone, maxCostDrift, skipInvalid, again, stage, goOnIfPaid } =
    readForm(schema, fields);
  if (start !== 'at' && at !== '') throw TIME_WITHOUT_USE;
  return {
    template: template === '' ? null : template,
    skipInvalid,
    again,
    expectRows: expectRows === '' ? null : Number.parseInt(expectRows, 10),
    expectTotals: totalsOf(expectTotals),
    at: start === 'now' ? null : start === 'at' ? at : 'schedule',
    zone: start === 'at' && zone !== '' ? zone : null,
    ...stageOptions(stage, goOnIfPaid),
    maxCostDriftBp: maxCostDrift === '' ? null : Number.parseInt(maxCostDrift, 10),
  };
}

/** The stages of a form or an address; '' for none. Throws a Problem (422) where only half of them was said. */
export function stageOptions(stage: string, goOnIfPaid: boolean): Pick<UploadOptions, 'stage' | 'goOnIfPaid'> {
  if (stage !== '') return { stage, goOnIfPaid };
  if (!goOnIfPaid) return { stage: null, goOnIfPaid };
  throw new Problem(
    422,
    'It is to go on by itself after each stage, and no stages are named.',
    'Name the stages, such as 10,rest.',
    { stage: 'It must name the stages.' },
  );
}

/** Else somebody who means a later time would have the run paid at once. */
const TIME_WITHOUT_USE = new Problem(
  422,
  'A "Start time" is given, and "Start" says another one.',
  'Choose "At the time below" as its Start, or leave the Start time empty.',
  { at: 'It goes with the Start "At the time below" only.' },
);

const TOTAL = /^([A-Z]{3})[ =:]+([0-9.,]+)$/;
const PLAIN = /^[0-9]+(?:\.[0-9]+)?$/;
/** With a comma between groups of three digits, none of which follows the point. */
const GROUPED = /^[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?$/;
const AMOUNT_CHARACTERS_MAX = 40;

/** One total in a line, such as `USD 1234.56` or `USD 1,234.56`. */
function totalsOf(text: string): UploadOptions['expectTotals'] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [, currency = '', written = ''] = TOTAL.exec(line) ?? [];
      const isAmount = written.length <= AMOUNT_CHARACTERS_MAX && (PLAIN.test(written) || GROUPED.test(written));
      const amount = written.replaceAll(',', '');
      if (isAmount && amount.length <= 30) return { currency, amount };
      throw new Problem(
        422,
        'An expected total is not a currency and an amount.',
        'Write one total in each line, such as USD 1234.56 or USD 1,234.56.',
        { expectTotals: 'It must have a currency and an amount in each line.' },
      );
    });
}
