import type { Random } from '../clock.ts';
import { manifestPathOf } from '../intake/manifest.ts';
import {
  ANSWER_ENDINGS,
  type AnswerEnding,
  answeredName,
  answerName,
  isManifest,
  manifestOf,
  storedName,
} from './names.ts';
import type { Entry, InboxSource } from './source.ts';

/*
 * A claim is a folder that holds one file from the moment that it leaves `in/` to its last answer:
 *
 *   claimed/<answer name>/<claim id>/<NAME>           the file, until it is answered
 *   claimed/<answer name>/<claim id>/.handed-in       the same, once it is accepted: whoever handed it in may still write to it
 *   claimed/<answer name>/<claim id>/<NAME>.manifest.json  its control totals, where some lay beside it
 *   claimed/<answer name>/<claim id>/.answer.json     what was decided about it; before that, nothing was said to anybody
 *   claimed/<answer name>/<claim id>/.put-<random>    an answer that is being written, before it is moved to reports/
 *   claimed/<answer name>/<claim id>/.put-marked-up   kept before the decision, moved to reports/ with it (kept.ts)
 *   claimed/<answer name>/<claim id>/.put-<sha256>    the bytes that were read, kept likewise, moved to done/
 *
 * A folder that holds something cannot be replaced by moving another one there, so who moved his there has the name to
 * himself. Whatever is written goes through the claim's own folder: who was asleep while others finished the claim finds
 * it gone, and can write nothing any more.
 */

const ANSWER = '.answer.json';
export const DRAFT = '.put-';
export const HANDED_IN = '.handed-in';
const CLAIM_ID = /^[0-9a-f]{32}$/;
const NAME_COUNT_MAX = 100_000;

export interface Claim {
  /** The name that the answers go by. */
  readonly as: string;
  /** Names this handing in for ever: the run that it makes is kept with it. */
  readonly id: string;
}

/** A claim as it was found. */
export interface FoundClaim extends Claim {
  /** The file; undefined when it was put away, or never came. */
  readonly entry: Entry | undefined;
  readonly isAnswered: boolean;
}

export function newClaimId(random: Random): string {
  return random.bytes(16).toString('hex');
}

/** Names that answers go by, as far as one reading of the folders tells. */
export interface UsedNames {
  readonly claimed: ReadonlySet<string>;
  readonly answered: ReadonlySet<string>;
}

export async function usedNames(source: InboxSource): Promise<UsedNames> {
  const [claimed = [], done = [], refused = [], reports = []] = await Promise.all(
    ['claimed', 'done', 'refused', 'reports'].map((folder) => source.names(folder)),
  );
  const answered = [...done, ...refused, ...reports.flatMap((name) => answeredName(name) ?? [])];
  return { claimed: new Set(claimed), answered: new Set(answered) };
}

interface Taking {
  readonly id: string;
  /** Saves trying names that are known to be taken. */
  readonly used: UsedNames;
}

/** Takes a file out of `in/`. Undefined when somebody else was first. */
export async function claimFile(source: InboxSource, name: string, taking: Taking): Promise<Claim | undefined> {
  const claim = await reserveName(source, name, taking);
  if (claim === undefined) return undefined;
  // First the manifest: the file must not be read without the totals that lay beside it.
  const manifest = manifestOf(name);
  if (manifest !== undefined) await source.move(`in/${manifest}`, pathOf(claim, manifest));
  if (await source.move(`in/${name}`, `${folderOf(claim)}/${storedName(name)}`)) return claim;
  await clearRemains(source, claim.as);
  return undefined;
}

async function reserveName(source: InboxSource, name: string, { id, used }: Taking): Promise<Claim | undefined> {
  for (let count = 1; count <= NAME_COUNT_MAX; count++) {
    const as = answerName(name, count);
    if (used.answered.has(as)) continue;
    // What somebody who was killed left there is no reason to give the file another name.
    if (used.claimed.has(as) && (await readClaim(source, as)) === undefined) await clearRemains(source, as);
    if (!(await reserve(source, { as, id }))) continue;
    // Looked at again: since the names were read, the claim before this one may have come to its end.
    if (!(await isUsed(source, as))) return { as, id };
    await endClaim(source, { as, id });
  }
  return undefined;
}

/** The folder is made elsewhere, with the id in it, for under its name it must never be empty. */
async function reserve(source: InboxSource, claim: Claim): Promise<boolean> {
  const draft = `claimed/.${claim.id}`;
  await source.makeFolder(draft);
  await source.makeFolder(`${draft}/${claim.id}`);
  if (await source.move(draft, `claimed/${claim.as}`)) return true;
  await source.remove(`${draft}/${claim.id}`);
  await source.remove(draft);
  return false;
}

async function isUsed(source: InboxSource, as: string): Promise<boolean> {
  const answers = Object.values(ANSWER_ENDINGS).map((ending) => `reports/${as}${ending}`);
  const found = await Promise.all([`done/${as}`, `refused/${as}`, ...answers].map((path) => source.has(path)));
  return found.includes(true);
}

/** What a claim has come to; undefined for what is left of one that was given up or has ended. */
export async function readClaim(source: InboxSource, as: string): Promise<FoundClaim | undefined> {
  for (const id of (await source.names(`claimed/${as}`)).filter((name) => CLAIM_ID.test(name))) {
    const entries = await source.list(folderOf({ as, id }));
    const entry = entries.find(({ name }) => !name.startsWith('.') && !isManifest(name));
    const isAnswered = entries.some(({ name }) => name === ANSWER);
    if (!as.startsWith('.') && (entry !== undefined || isAnswered)) return { as, id, entry, isAnswered };
  }
  return undefined;
}

/** Ends a claim whose last answer is given, or that caught nothing. */
export async function endClaim(source: InboxSource, claim: Claim): Promise<void> {
  await clearDrafts(source, claim);
  for (const name of (await source.names(folderOf(claim))).filter(isManifest)) {
    await source.move(pathOf(claim, name), `${await placeOf(source, claim.as)}/${manifestPathOf(claim.as)}`);
  }
  await source.remove(pathOf(claim, HANDED_IN));
  // Last: what is left without it looks like a claim that was never used, and goes the same way.
  await source.remove(pathOf(claim, ANSWER));
  await removeFolders(source, claim);
}

/** Where the file of a claim went: what was accepted is done, also when it was written to afterwards. */
async function placeOf(source: InboxSource, as: string): Promise<'done' | 'refused'> {
  return (await source.has(`refused/${as}`)) && !(await source.has(`done/${as}`)) ? 'refused' : 'done';
}

/**
 * Removes what is left under a name that holds neither file nor decision. One that gets either this very moment stays, for
 * its folder is not empty then.
 */
export async function clearRemains(source: InboxSource, as: string): Promise<void> {
  for (const id of await source.names(`claimed/${as}`)) {
    await clearDrafts(source, { as, id });
    for (const name of (await source.names(folderOf({ as, id }))).filter(isManifest)) {
      // Its file was not caught: it waits for it again.
      await source.move(pathOf({ as, id }, name), `in/${name}`);
    }
    await removeFolders(source, { as, id });
  }
  await source.remove(`claimed/${as}`);
}

async function clearDrafts(source: InboxSource, claim: Claim): Promise<void> {
  for (const name of await source.names(folderOf(claim))) {
    if (name.startsWith(DRAFT)) await source.remove(pathOf(claim, name));
  }
}

async function removeFolders(source: InboxSource, claim: Claim): Promise<void> {
  await source.remove(folderOf(claim));
  await source.remove(`claimed/${claim.as}`);
}

export function pathOf(claim: Claim, name: string): string {
  return `${folderOf(claim)}/${name}`;
}

export function folderOf({ as, id }: Claim): string {
  return `claimed/${as}/${id}`;
}

type Chunks = Iterable<Buffer> | AsyncIterable<Buffer>;

export interface Writing {
  readonly random: Random;
  readonly source: InboxSource;
}

/** Puts an answer into `reports/`, whole or not at all. False: the claim has ended meanwhile. */
export async function putAnswer(
  writing: Writing,
  claim: Claim,
  { ending, chunks }: { ending: AnswerEnding; chunks: Chunks },
): Promise<boolean> {
  return await place(writing, claim, { to: `reports/${claim.as}${ending}`, chunks, folder: 'reports' });
}

/** Keeps what was decided with the claim. False: the claim has ended meanwhile. */
export async function keepDecision(writing: Writing, claim: Claim, text: string): Promise<boolean> {
  return await place(writing, claim, { to: pathOf(claim, ANSWER), chunks: [Buffer.from(text)], folder: 'reports' });
}

/** What was decided; undefined when nothing was. */
export async function readDecision(source: InboxSource, claim: Claim): Promise<string | undefined> {
  const opening = await source.open(pathOf(claim, ANSWER));
  if (opening.kind !== 'opened') return undefined;
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of opening.file.chunks()) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks).toString('utf8');
  } finally {
    await opening.file.close();
  }
}

/** Writes a file whole or not at all, for those who may read `folder`. False: the claim has ended meanwhile. */
export async function place(
  { random, source }: Writing,
  claim: Claim,
  { to, chunks, folder }: { to: string; chunks: Chunks; folder: string },
): Promise<boolean> {
  const draft = pathOf(claim, `${DRAFT}${random.bytes(8).toString('hex')}`);
  if (!(await source.write(draft, { chunks, folder }))) return false;
  return await source.move(draft, to);
}
