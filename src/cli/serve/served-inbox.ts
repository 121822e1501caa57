import type { App } from '../../app.ts';
import { removeOldCopies } from '../../inbox/copy.ts';
import { openInbox } from '../../inbox/inbox.ts';
import { openSource } from '../../inbox/open-source.ts';
import type { WatchedInbox } from '../../web/web.ts';
import { explain } from '../explain.ts';
import { actorOf } from '../open.ts';
import { safeText, say } from '../print.ts';
import { lookUntilStopped } from './inbox-looking.ts';

/** An inbox that is watched beside something else. */
interface ServedInbox extends WatchedInbox {
  /** Answers its files until `stopping` is aborted. */
  watch(): Promise<void>;
}

/** Opens inboxes, each with the folders that it lacks; closed with the app. Throws a Refusal (exit 2) for one that cannot be used. */
export async function openServedInboxes(
  app: App,
  addresses: readonly string[],
  stopping: AbortSignal,
): Promise<ServedInbox[]> {
  if (addresses.length > 0) await removeOldCopies(app.config, app.clock);
  const opened: ServedInbox[] = [];
  for (const address of new Set(addresses)) opened.push(await openOne(app, address, stopping));
  return opened;
}

async function openOne(app: App, address: string, stopping: AbortSignal): Promise<ServedInbox> {
  const source = openSource(app, address);
  app.onClose(() => source.close());
  if (await source.prepare()) say(`payrun serve made the folder ${safeText(source.name)}, which was not there`);
  const inbox = openInbox(app, source, {
    actor: actorOf(undefined),
    skipInvalid: false,
    stopping,
    answered: (as, { kind }) =>
      app.log.info(kind === 'ack' ? 'a file was accepted' : 'a file was refused', { reason: as }),
    reported: (run) => app.log.info('a report was delivered', { run }),
    describe: (error) => explain(error).text,
    say,
  });
  return {
    address: source.name,
    inbox,
    async watch() {
      say(`payrun serve ${process.pid} watches ${safeText(source.name)}`);
      await lookUntilStopped(app, inbox, { stopping, pollMs: source.pollMs });
    },
  };
}
