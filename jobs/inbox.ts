import { openSource, requireFolder } from '../src/inbox/open-source.ts';
import { readInbox } from '../src/inbox/read-inbox.ts';
import { describeFault } from '../src/inbox/retry-backoff.ts';
import type { JobDeps } from './deps.ts';

/** Reads an inbox once, for a schedule. What cannot be answered now is found again by the next one. Throws a Refusal for a folder that is not there. */
export async function inbox(
  { app, stopping }: JobDeps,
  { dir, actor }: { readonly dir: string; readonly actor: string },
): Promise<void> {
  await requireFolder(dir);
  const source = openSource(app, dir);
  try {
    await readInbox(app, source, {
      actor,
      skipInvalid: false,
      stopping,
      answered: (as, { kind }) =>
        app.log.info(kind === 'ack' ? 'a file was accepted' : 'a file was answered with what is wrong', { reason: as }),
      reported: (run) => app.log.info('a report was delivered', { run }),
      describe: describeFault,
      say: (reason) => app.log.warn('the inbox has a fault', { reason }),
    });
  } finally {
    await source.close();
  }
}
