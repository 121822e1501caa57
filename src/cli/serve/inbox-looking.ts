import type { App } from '../../app.ts';
import type { Inbox } from '../../inbox/inbox.ts';
import type { Run } from '../../payout.ts';
import { hasEnded } from '../../runs/decide/control.ts';
import { openWaitLimit, type WaitLimit } from '../run/wait-limit.ts';
import { STOP_MS } from '../stop.ts';
import type { Outcome } from './inbox-outcome.ts';

/** `--once` gives up on what had a trouble for so long while nothing else came forward. */
const TROUBLE_MS_MAX = 60_000;
/** Trouble with the inbox itself, not with one file. */
const THE_INBOX = '.';

export interface Looking {
  readonly stopping: AbortSignal;
  readonly pollMs: number;
}

/** Looks again and again until `stopping` is aborted; what is under way then may end. */
export async function lookUntilStopped(app: App, inbox: Inbox, { stopping, pollMs }: Looking): Promise<void> {
  while (!stopping.aborted) {
    await lookCalmly(inbox);
    await app.clock.sleep(pollMs, stopping);
  }
  await Promise.race([inbox.idle(), app.clock.sleep(STOP_MS)]);
}

/** Looks until no file is left to answer and no run is worth waiting for. Throws a trouble that does not end. */
export async function lookUntilDone(
  app: App,
  inbox: Inbox,
  { stopping, pollMs, outcome, waitMs }: Looking & { outcome: Outcome; waitMs: number },
): Promise<void> {
  const isWaitedFor = openWaiting(app, waitMs);
  while (!stopping.aborted) {
    await lookCalmly(inbox);
    await inbox.idle();
    const { files, unanswered, runs } = inbox.standing();
    for (const run of runs) outcome.met(run.id);
    const trouble = inbox.troubles.oldest();
    if (!(await isWaitedFor(runs))) {
      // The next look delivers the report of a run that is over.
      if (trouble === undefined && files + unanswered === 0 && !runs.some(hasEnded)) return;
      if (trouble !== undefined && app.clock.monotonic() - trouble.sinceMs > TROUBLE_MS_MAX) throw trouble.error;
    }
    await app.clock.sleep(pollMs, stopping);
  }
}

/** Whether one of the runs may still come to its end by itself, as `payrun run` waits for it. */
function openWaiting(app: App, waitMs: number): (runs: readonly Run[]) => Promise<boolean> {
  const waitLimits = new Map<string, WaitLimit>();
  return async (runs) => {
    const waiting = runs.filter((run) => {
      const waitLimit =
        waitLimits.get(run.id) ??
        openWaitLimit(app.clock, { unknownMs: waitMs, tracksPerSecond: app.config.trackRatePerSecond });
      waitLimits.set(run.id, waitLimit);
      return !waitLimit.isReached(run);
    });
    return waiting.length > 0 && (await app.ledger.state.read().catch(() => ({ halt: null }))).halt === null;
  };
}

async function lookCalmly(inbox: Inbox): Promise<void> {
  if (inbox.troubles.isEarly(THE_INBOX)) return;
  try {
    await inbox.look();
    inbox.troubles.end(THE_INBOX);
  } catch (error) {
    inbox.troubles.note(THE_INBOX, error);
  }
}
