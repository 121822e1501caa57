import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Ledger } from '../../ledger/ledger.ts';
import { Problem } from '../problem.ts';

/**
 * What the ledger knows a handing in by: who sends it, and the name that they gave it; undefined without one. Throws a
 * Problem (422) when the same person has sent another file under that name.
 */
export async function claimSubmission(
  { ledger }: { readonly ledger: Pick<Ledger, 'submissions'> },
  { actor, name, path }: { actor: string; name: string | undefined; path: string },
): Promise<string | undefined> {
  if (name === undefined) return undefined;
  const key = createHash('sha256').update(`${actor}\n${name}`).digest('hex');
  const content = await digestOf(path);
  if ((await ledger.submissions.claim(key, content)) === content) return key;
  throw new Problem(
    422,
    'Another file was sent under this Idempotency-Key.',
    'Give each file a key of its own, and the same key only to the same file.',
  );
}

async function digestOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  const chunks: AsyncIterable<Buffer> = createReadStream(path);
  for await (const chunk of chunks) digest.update(chunk);
  return digest.digest('hex');
}
