import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Ledger } from '../../../ledger/ledger.ts';
import { Problem } from '../../problem.ts';
import { type Upload, type UploadPlace, uploadOptions, uploadPath } from '../../uploads/upload.ts';

/**
 * What the ledger knows a handing in by: who sends it, and the name that they gave it; undefined without one. Throws a
 * Problem (422) when the same person has sent another file under that name, or the same one with other options.
 */
export async function claimSubmission(
  deps: UploadPlace & { readonly ledger: Pick<Ledger, 'submissions'> },
  { actor, name, upload }: { actor: string; name: string | undefined; upload: Upload },
): Promise<string | undefined> {
  if (name === undefined) return undefined;
  const key = sha256(`${actor}\n${name}`);
  const content = await digestOf(uploadPath(deps, upload.id, 'file'));
  // Parsed, the options have one order, however they came.
  const sent = sha256(JSON.stringify([content, upload.name, uploadOptions.parse(upload.options)]));
  if ((await deps.ledger.submissions.claim(key, sent)) === sent) return key;
  throw new Problem(
    422,
    'Another file, or the same one with other options or another name, was sent under this Idempotency-Key.',
    'Give each handing in a key of its own, and the same key only to the same file with the same options.',
  );
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function digestOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  const chunks: AsyncIterable<Buffer> = createReadStream(path);
  for await (const chunk of chunks) digest.update(chunk);
  return digest.digest('hex');
}
