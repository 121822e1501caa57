import type { Clock } from '../clock.ts';
import type { Run } from '../payout.ts';
import { clearRemains, type FoundClaim, newClaimId, readClaim, type UsedNames, usedNames } from './claim.ts';
import { isPassedOver } from './names.ts';
import { type NoteDeps, openSettingsNote } from './note-settings.ts';
import { LEDGER_MARK } from './prepare-inbox.ts';
import { openRetryBackoff, type RetryBackoff, type Tell } from './retry-backoff.ts';
import type { Entry, InboxSource } from './source.ts';
import { openSteps, type StepDeps, type StepOptions, type Steps } from './steps.ts';

/** A file is complete when it was the same at two looks so far apart. */
export const STABLE_MS = 2000;
const CLAIMS_AT_A_TIME = 4;

export interface InboxOptions extends StepOptions, Tell {
  /** Aborted when nothing new is to be begun. */
  readonly stopping: AbortSignal;
  readonly stableMs?: number | undefined;
}

/** What the last look, and what was done since, left. */
export interface Standing {
  /** Things in `in/` that may still become files to answer. */
  readonly files: number;
  /** Claims without an answer. */
  readonly unanswered: number;
  /** Runs whose report is not delivered. */
  readonly runs: readonly Run[];
}

export interface Inbox {
  /** Looks at everything once, and begins whatever can be done. Throws when the folders cannot be looked at. */
  look(): Promise<void>;
  /** Resolves when all that was begun is done. */
  idle(): Promise<void>;
  standing(): Standing;
  readonly troubles: RetryBackoff;
}

/**
 * One watcher of an inbox. All that counts lies in the inbox itself (claim.ts), so a watcher may be killed at any moment,
 * and any number of them may watch one inbox. Each file is answered once; what keeps it from being answered for now is
 * tried again, and keeps no other file waiting.
 */
export function openInbox(deps: StepDeps & NoteDeps, source: InboxSource, options: InboxOptions): Inbox {
  const looks = openLooks(deps.clock, options.stableMs ?? STABLE_MS);
  const troubles = openRetryBackoff(deps.clock, options);
  const tasks = openTasks(CLAIMS_AT_A_TIME, options.stopping);
  const steps = openSteps(deps, source, options);
  const note = openSettingsNote(deps, source.name, options);
  const followed = new Map<string, { claim: FoundClaim; run: Run }>();
  let files = 0;
  let unanswered = new Set<string>();

  function begin(key: string, work: () => Promise<boolean>): void {
    if (!troubles.isEarly(key)) tasks.begin(key, () => attempt(troubles, key, work));
  }

  async function take(entry: Entry, used: () => Promise<UsedNames>): Promise<true> {
    const id = newClaimId(deps.random);
    await steps.alone({ id }, async () => {
      const claim = await steps.take(entry.name, { id, used: await used() });
      const found = claim === undefined ? undefined : await readClaim(source, claim.as);
      // What was caught may be another file than the one that was looked at: then it is looked at twice where it is now.
      if (found?.entry === undefined || found.entry.signature !== entry.signature) return;
      const { entry: claimed } = found;
      await attempt(troubles, claimKey(found.as), () => isDone(steps.answer(found, claimed)));
    });
    return true;
  }

  async function goOn(as: string): Promise<boolean> {
    const found = followed.get(as)?.claim ?? (await readClaim(source, as));
    const key = claimKey(as);
    if (found === undefined) {
      if (!looks.isStable(key, 'nothing is in it')) return false;
      await clearRemains(source, as);
      return true;
    }
    const { entry, isAnswered } = found;
    if (entry !== undefined) {
      if (!isAnswered && !looks.isStable(key, entry.signature)) return false;
      await steps.alone(found, () => answerStill(source, steps, found));
      return true;
    }
    unanswered.delete(as);
    const run = await steps.follow(found);
    if (run === undefined) followed.delete(as);
    else followed.set(as, { claim: found, run });
    return true;
  }

  return {
    async look() {
      const lookedMs = deps.clock.monotonic();
      await note();
      const entries = (await source.list('in')).filter(({ name }) => !isPassedOver(name));
      const claimed = (await source.names('claimed')).filter((name) => name !== LEDGER_MARK);
      const there = new Set([...entries.map(({ name }) => `in/${name}`), ...claimed.map(claimKey)]);
      looks.keep(there);
      troubles.keep(there, lookedMs);
      files = entries.length;
      unanswered = new Set(claimed.filter((as) => !followed.has(as)));
      for (const as of followed.keys()) if (!claimed.includes(as)) followed.delete(as);
      // One reading of the names in use is enough for all that this look begins.
      let reading: Promise<UsedNames> | undefined;
      const used = (): Promise<UsedNames> => (reading ??= usedNames(source));
      for (const as of claimed) begin(claimKey(as), () => goOn(as));
      for (const entry of entries) {
        const key = `in/${entry.name}`;
        if (looks.isStable(key, entry.signature)) begin(key, () => take(entry, used));
      }
    },
    idle: () => tasks.idle(),
    standing: () => ({ files, unanswered: unanswered.size, runs: [...followed.values()].map(({ run }) => run) }),
    troubles,
  };
}

function claimKey(as: string): string {
  return `claimed/${as}`;
}

/** Until the lease was had, somebody else may have answered the file, or written to it. */
async function answerStill(source: InboxSource, steps: Steps, found: FoundClaim): Promise<void> {
  const now = await readClaim(source, found.as);
  const isSame = now?.id === found.id && now.entry?.signature === found.entry?.signature;
  if (isSame && now?.entry !== undefined) await steps.answer(now, now.entry);
}

async function isDone(work: Promise<void>): Promise<true> {
  await work;
  return true;
}

/** The work gives false when it was too early to do anything: then a trouble is not over. */
async function attempt(troubles: RetryBackoff, what: string, work: () => Promise<boolean>): Promise<void> {
  try {
    if (await work()) troubles.end(what);
  } catch (error) {
    troubles.note(what, error);
  }
}

/** Work that is done a few pieces at a time, each under a name that no second one has meanwhile. */
interface Tasks {
  /** Does the work when its turn comes, unless some is there under this name already. It must not throw. */
  begin(name: string, work: () => Promise<void>): void;
  /** Resolves when nothing is left to do. */
  idle(): Promise<void>;
}

/** Once `stopping` is aborted nothing more is begun; what waits for its turn is left. */
function openTasks(atATimeMax: number, stopping: AbortSignal): Tasks {
  const waiting = new Map<string, () => Promise<void>>();
  const running = new Map<string, Promise<void>>();

  function next(): void {
    for (const [name, work] of waiting) {
      if (stopping.aborted || running.size >= atATimeMax) return;
      waiting.delete(name);
      const done = work().finally(() => {
        running.delete(name);
        next();
      });
      running.set(name, done);
    }
  }

  return {
    begin(name, work) {
      if (running.has(name)) return;
      if (!waiting.has(name)) waiting.set(name, work);
      next();
    },
    async idle() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}

/** Tells what has not changed between two looks. */
export interface Looks {
  /** Whether the thing looked the same before, at least so long ago. */
  isStable(key: string, signature: string): boolean;
  /** Forgets all but these. */
  keep(keys: ReadonlySet<string>): void;
}

/** A file that is still written to has another size or time at the second look. */
export function openLooks(clock: Pick<Clock, 'monotonic'>, stableMs: number): Looks {
  const seen = new Map<string, { signature: string; sinceMs: number }>();
  return {
    isStable(key, signature) {
      const nowMs = clock.monotonic();
      const before = seen.get(key);
      if (before?.signature === signature) return nowMs - before.sinceMs >= stableMs;
      seen.set(key, { signature, sinceMs: nowMs });
      return false;
    },
    keep(keys) {
      for (const key of seen.keys()) if (!keys.has(key)) seen.delete(key);
    },
  };
}
