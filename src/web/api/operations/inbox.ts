import { z } from 'zod';
import { rfc3339 } from '../../../clock.ts';
import { type FolderLook, type InboxFiles, SHOWN_MAX } from '../../inbox/look.ts';
import { readInboxes, type ShownInbox } from '../../inbox/read-inboxes.ts';
import type { Web, WebDeps } from '../../web.ts';
import { count, time } from '../documents.ts';

const text = z.string();
const files = z.object({
  count,
  files: z.array(z.object({ name: text, at: time, runId: text.nullable() })).describe(`At most ${SHOWN_MAX} of them`),
});
const folder = z.object({
  waiting: files.describe('To be taken, the oldest first, with the time at which each was written'),
  claimed: files.describe('Taken, and not answered or not reported to the end, the oldest first'),
  accepted: files.describe('Answered with a run, the newest first'),
  refused: files.describe('Answered with what is wrong, the newest first'),
  isCut: z.boolean().describe('There are more files than one look reads'),
});
const inbox = z.object({
  address: text,
  readBy: z.array(text),
  folder: folder.nullable().describe('Null where it cannot be looked at from here'),
  whyNot: text.nullable(),
  trouble: z.object({ since: time, message: text }).nullable().describe('What keeps this process from reading it'),
});

/** The inboxes that somebody reads. */
export function addInboxOperations(api: Web, deps: WebDeps): void {
  const schema = { summary: 'The inboxes, and what lies in each', response: { 200: z.array(inbox) } };
  api.get('/inbox', { config: { act: 'read' }, schema }, async () => (await readInboxes(deps)).map(inboxDocument));
}

function inboxDocument({ address, readBy, folder: look, trouble }: ShownInbox): z.infer<typeof inbox> {
  const isLookedAt = typeof look !== 'string';
  return {
    address,
    readBy: [...readBy],
    folder: isLookedAt ? folderDocument(look) : null,
    whyNot: isLookedAt ? null : look,
    trouble: trouble === null ? null : { since: rfc3339(trouble.since), message: trouble.text },
  };
}

function folderDocument({ isCut, waiting, claimed, accepted, refused }: FolderLook): z.infer<typeof folder> {
  return {
    waiting: filesDocument(waiting),
    claimed: filesDocument(claimed),
    accepted: filesDocument(accepted),
    refused: filesDocument(refused),
    isCut,
  };
}

function filesDocument({ count: all, shown }: InboxFiles): z.infer<typeof files> {
  return { count: all, files: shown.map(({ name, at, runId }) => ({ name, at: rfc3339(at), runId })) };
}
