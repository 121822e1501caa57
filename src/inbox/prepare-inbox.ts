import type { Random } from '../clock.ts';
import type { LedgerState } from '../ledger/season/ledger-state.ts';
import { Refusal } from '../refusal.ts';
import type { InboxSource } from './source.ts';

/** In `claimed/`. It has a folder for the ledger to which the inbox belongs, with the name of its instance. */
export const LEDGER_MARK = '.ledger';
const MARK = `claimed/${LEDGER_MARK}`;

export interface PrepareDeps {
  readonly ledger: { readonly state: Pick<LedgerState, 'read'> };
  readonly random: Random;
}

/**
 * Makes what an inbox lacks, and takes one that belongs to no ledger for this one; true when the inbox itself was missing. Throws a
 * Refusal for the inbox of another ledger, which would pay its files too (docs/inbox.md), and for a place that is no safe inbox.
 */
export async function prepareInbox({ ledger, random }: PrepareDeps, source: InboxSource): Promise<boolean> {
  const isNew = await source.prepare();
  const { instance, formerInstance } = await ledger.state.read();
  if ((await source.names(MARK)).length === 0) await take(source, instance, random);
  const owners = await source.names(MARK);
  // A ledger that was adopted is the former one.
  if (owners.includes(formerInstance)) await source.makeFolder(`${MARK}/${instance}`);
  else if (!owners.includes(instance)) throw refuseInbox(source.name);
  return isNew;
}

/** The mark is made elsewhere and moved, for two ledgers may take one inbox at a moment: a folder with something in it cannot be replaced. */
async function take(source: InboxSource, instance: string, random: Random): Promise<void> {
  const draft = `${MARK}-${random.bytes(8).toString('hex')}`;
  await source.makeFolder(draft);
  await source.makeFolder(`${draft}/${instance}`);
  // An empty one is in the way on some servers.
  await source.remove(MARK);
  if (await source.move(draft, MARK)) return;
  await source.remove(`${draft}/${instance}`);
  await source.remove(draft);
}

function refuseInbox(name: string): Refusal {
  return new Refusal(
    `The inbox ${name} belongs to another ledger, which may pay its files.`,
    `Name another inbox. To give this one to the ledger that is used here: drop nothing more, let the other ledger answer what is in claimed/, stop all that watches the inbox for it, and remove the folder ${MARK} in it.`,
  );
}
