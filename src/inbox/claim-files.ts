import { type Claim, DRAFT, HANDED_IN, pathOf, place, type Writing } from './claim.ts';
import { ANSWER_ENDINGS } from './names.ts';
import { isKept } from './rejected-entries.ts';
import type { Entry, InboxSource } from './source.ts';

/*
 * What a claim keeps beside its decision. It is kept before the decision is, so whoever finds the one finds the other, and
 * it is moved to its place before the file is put away.
 */

const MARKED_UP = `${DRAFT}marked-up`;

/** Keeps the marked-up copy of a refused file. */
export async function keepMarkedUp(writing: Writing, claim: Claim, chunks: AsyncIterable<Buffer>): Promise<void> {
  await place(writing, claim, { to: pathOf(claim, MARKED_UP), chunks, folder: 'reports' });
}

/** Puts the marked-up copy into `reports/`, if there is one. */
export async function putMarkedUp(source: InboxSource, claim: Claim): Promise<void> {
  await source.move(pathOf(claim, MARKED_UP), `reports/${claim.as}${ANSWER_ENDINGS.markedUp}`);
}

/** Keeps the bytes of an accepted file as they were read. */
export async function keepRead(
  writing: Writing,
  claim: Claim,
  { sha256, chunks }: { sha256: string; chunks: AsyncIterable<Buffer> },
): Promise<void> {
  await place(writing, claim, { to: pathOf(claim, `${DRAFT}${sha256}`), chunks, folder: 'done' });
}

/** Puts the bytes that were read into `done/`; the file itself stays with the claim, for it may still be written to. */
export async function putRead(
  source: InboxSource,
  claim: Claim,
  { sha256, entry }: { sha256: string; entry: Entry },
): Promise<void> {
  const done = `done/${claim.as}`;
  const isPut = (await source.move(pathOf(claim, `${DRAFT}${sha256}`), done)) || (await source.has(done));
  await putAway(source, claim, { entry, to: isPut ? pathOf(claim, HANDED_IN) : done });
}

/** Takes the claim's file away from its name: to another one, or, what is no file to keep, for ever. */
export async function putAway(
  source: InboxSource,
  claim: Claim,
  { entry, to }: { entry: Entry; to: string },
): Promise<void> {
  const from = pathOf(claim, entry.name);
  if (isKept(entry)) await source.move(from, to);
  else await source.remove(from);
}
