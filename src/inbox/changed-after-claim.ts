import { createHash } from 'node:crypto';
import type { Run } from '../payout.ts';
import { type Claim, folderOf, HANDED_IN, pathOf } from './claim.ts';
import type { FileProblem } from './rejected-entries.ts';
import type { Entry, InboxSource } from './source.ts';

/** Finds accepted files that were written to after they were read: their writer had them open still. */
export interface LateWrites {
  /** Takes note that the file that looks like this is the one that was read. */
  read(claim: Claim, entry: Entry): void;
  /**
   * Whether the accepted file holds other bytes than were read of it, or cannot be read any more. It is read again when it
   * looks different than before, and at `last` in any case: times can be set back.
   */
  isLate(claim: Claim, sha256: string, last: boolean): Promise<boolean>;
  forget(claim: Claim): void;
}

export function openLateWrites(source: InboxSource): LateWrites {
  const signatures = new Map<string, string>();
  return {
    read: ({ id }, { signature }) => void signatures.set(id, signature),
    async isLate(claim, sha256, last) {
      const entry = (await source.list(folderOf(claim))).find(({ name }) => name === HANDED_IN);
      if (entry === undefined || (!last && signatures.get(claim.id) === entry.signature)) return false;
      if (await isChanged(source, pathOf(claim, HANDED_IN), sha256)) return true;
      signatures.set(claim.id, entry.signature);
      return false;
    },
    forget: ({ id }) => void signatures.delete(id),
  };
}

async function isChanged(source: InboxSource, path: string, sha256: string): Promise<boolean> {
  const opening = await source.open(path);
  if (opening.kind !== 'opened') return opening.kind === 'unreadable';
  try {
    const { kind, sizeBytes } = await opening.file.look();
    if (kind !== 'file') return true;
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of opening.file.chunks()) {
      bytes += chunk.length;
      // One that grows faster than it is read would never come to its end.
      if (bytes > sizeBytes) return true;
      hash.update(chunk);
    }
    return hash.digest('hex') !== sha256;
  } finally {
    await opening.file.close();
  }
}

/** Puts a file that was changed after it was taken where refused ones lie. */
export async function putChangedAfterClaim(source: InboxSource, claim: Claim): Promise<void> {
  await source.move(pathOf(claim, HANDED_IN), `refused/${claim.as}`);
}

export const LATE = 'E_LATE';

/** What is told of such a file; the run is what was read of it before, whatever has become of that. */
export function problemOfChanged({ id, state }: Pick<Run, 'id' | 'state'>): FileProblem {
  const isCancelled = state === 'cancelled';
  const run = `Run ${id} is the file as it was then, which lies in done/${isCancelled ? '; it was cancelled' : ''}.`;
  const remedy = isCancelled
    ? 'See in the report of the run what became of its rows, and drop what is still to be paid as a file of its own.'
    : 'Compare it with this one, in refused/, and drop what is missing as a file of its own.';
  return {
    code: LATE,
    line: null,
    column: null,
    value: null,
    message: `The file was changed after it was taken. ${run} Nothing that was written later is part of it.`,
    remedy: `${remedy} Upload files under a name that ends in .part, and rename them when they are complete.`,
  };
}
