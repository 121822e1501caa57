import { createHash } from 'node:crypto';
import { serialize } from 'node:v8';
import type { Droppers } from '../config/inbox.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { HandingIn } from './answer.ts';

export interface NoteDeps {
  readonly ledger: Pick<Ledger, 'audit' | 'inboxes'>;
  readonly config: { readonly inbox?: Droppers };
}

/** Notes the settings of an inbox once: before anything of it is taken. */
export function openSettingsNote(deps: NoteDeps, inbox: string, handingIn: HandingIn): () => Promise<void> {
  let isNoted = false;
  return async () => {
    if (!isNoted) await noteSettings(deps, inbox, handingIn);
    isNoted = true;
  };
}

/**
 * Notes on the audit log that an inbox is watched under other settings than before, or for the first time: the part `inbox`
 * of PAYRUN_CONFIG, and what the process was told when it began to watch. Whoever approves a file of it is told so.
 */
async function noteSettings({ ledger, config }: NoteDeps, inbox: string, handingIn: HandingIn): Promise<void> {
  const { actor, dropper, skipInvalid, intake } = handingIn;
  const settings = serialize([config.inbox ?? null, dropper ?? null, skipInvalid, intake ?? null]);
  const sha256 = createHash('sha256').update(settings).digest('hex');
  const former = await ledger.inboxes.settings(inbox);
  if (former === sha256) return;
  const action = former === undefined ? 'inbox.watched' : 'inbox.settings-changed';
  await ledger.audit.append({ actor, action, target: `inbox ${inbox}`, details: { sha256 } });
  await ledger.inboxes.noteSettings(inbox, sha256);
}
