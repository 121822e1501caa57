import type { Answer } from './answer.ts';
import { removeOldCopies } from './copy.ts';
import { type InboxOptions, openInbox, STABLE_MS } from './inbox.ts';
import type { NoteDeps } from './note-settings.ts';
import { type PrepareDeps, prepareInbox } from './prepare-inbox.ts';
import type { InboxSource } from './source.ts';
import type { StepDeps } from './steps.ts';

/** What still changes after this, or cannot be answered now, is left to the next reading. */
const WAIT_MS_MAX = 10_000;

/** What one reading came to. */
export interface Reading {
  readonly accepted: number;
  readonly refused: number;
  /** Files, and runs whose report is not due yet, that the next reading will find. */
  readonly left: number;
}

/**
 * Reads an inbox once: answers every file that is complete and delivers every report that is due. Ends when nothing more
 * can be done now. Faults with single files are told by `options.say` and leave them to the next reading; a fault with
 * the inbox itself is thrown. The source stays open.
 */
export async function readInbox(
  deps: StepDeps & NoteDeps & PrepareDeps,
  source: InboxSource,
  options: InboxOptions,
): Promise<Reading> {
  const count = { ack: 0, nack: 0 };
  const lookEveryMs = (options.stableMs ?? STABLE_MS) / 4;
  let progressMs = deps.clock.monotonic();
  const answered = (as: string, answer: Answer): void => {
    count[answer.kind]++;
    progressMs = deps.clock.monotonic();
    options.answered(as, answer);
  };
  const inbox = openInbox(deps, source, { ...options, answered });
  await prepareInbox(deps, source);
  await removeOldCopies(deps.config, deps.clock);
  while (true) {
    await inbox.look();
    await inbox.idle();
    const { files, unanswered, runs } = inbox.standing();
    const isQuiet = files + unanswered === 0;
    if (isQuiet || options.stopping.aborted || deps.clock.monotonic() - progressMs >= WAIT_MS_MAX) {
      return { accepted: count.ack, refused: count.nack, left: files + unanswered + runs.length };
    }
    await deps.clock.sleep(lookEveryMs, options.stopping);
  }
}
