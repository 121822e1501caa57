import type { Clock } from '../clock.ts';
import { Refusal } from '../refusal.ts';

const FIRST_WAIT_MS = 1000;
const WAIT_MS_MAX = 60_000;

/** What cannot be done for now, is tried again later, and is told to people once. */
export interface RetryBackoff {
  /** Whether it is too early to try this again. */
  isEarly(what: string): boolean;
  note(what: string, error: unknown): void;
  end(what: string): void;
  /** Forgets what was noted before `beforeMs` (of the monotonic clock) about anything but these: it is gone. */
  keep(whats: ReadonlySet<string>, beforeMs: number): void;
  /** The oldest fault of those that last, and since when in milliseconds of the monotonic clock. */
  oldest(): { readonly sinceMs: number; readonly error: unknown } | undefined;
}

interface Trouble {
  readonly text: string;
  readonly error: unknown;
  readonly sinceMs: number;
  readonly notedMs: number;
  readonly waitMs: number;
  readonly untilMs: number;
}

export interface Tell {
  /** A fault in words for people. */
  readonly describe: (error: unknown) => string;
  readonly say: (text: string) => void;
}

/** One text is said once however many things have the same trouble, and again only after all of them were rid of it. */
export function openRetryBackoff(clock: Pick<Clock, 'monotonic'>, { describe, say }: Tell): RetryBackoff {
  const troubles = new Map<string, Trouble>();
  return {
    isEarly: (what) => clock.monotonic() < (troubles.get(what)?.untilMs ?? 0),
    note(what, error) {
      const text = describe(error);
      const isNews = ![...troubles.values()].some((trouble) => trouble.text === text);
      const before = troubles.get(what);
      const nowMs = clock.monotonic();
      const waitMs = before === undefined ? FIRST_WAIT_MS : Math.min(before.waitMs * 2, WAIT_MS_MAX);
      troubles.set(what, {
        text,
        error,
        sinceMs: before?.sinceMs ?? nowMs,
        notedMs: nowMs,
        waitMs,
        untilMs: nowMs + waitMs,
      });
      if (isNews) say(text);
    },
    end: (what) => void troubles.delete(what),
    keep(whats, beforeMs) {
      for (const [what, { notedMs }] of troubles) if (notedMs < beforeMs && !whats.has(what)) troubles.delete(what);
    },
    oldest: () => [...troubles.values()].toSorted((left, right) => left.sinceMs - right.sinceMs)[0],
  };
}

/** For those who have no better words of their own. */
export function describeFault(error: unknown): string {
  if (error instanceof Refusal) return `${error.message}\n${error.remedy}`;
  return error instanceof Error ? `${error.name}: ${error.message}` : 'an unknown fault';
}
