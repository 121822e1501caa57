import { createHash } from 'node:crypto';
import { Refusal } from '../../refusal.ts';
import type { CheckedFile } from '../check-file.ts';
import type { PayoutSource } from '../payout-source.ts';

/** The bytes of a checked file once more. Throws a Refusal (file refused) at their end when they are not those that were checked. */
export async function* unchangedChunks(source: PayoutSource, checked: CheckedFile): AsyncGenerator<Buffer> {
  const sha256 = createHash('sha256');
  for await (const chunk of source.chunks()) {
    sha256.update(chunk);
    yield chunk;
  }
  if (sha256.digest('hex') === checked.sha256) return;
  throw new Refusal(
    `The payout file ${checked.name} changed while it was read.`,
    'Hand it in again when nothing writes to it any more.',
    { kind: 'fileRefused' },
  );
}
