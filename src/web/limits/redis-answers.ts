import type { App } from '../../app.ts';
import { rfc3339 } from '../../clock.ts';
import { Problem } from '../problem.ts';

/** Commands wait for 30 s; whoever looks at a page is told after so long. */
const SILENT_MS_MAX = 3000;

/**
 * Asks Redis whether it answers, before a request waits for it. One question is open at a time, whoever asks. Throws a Problem
 * (503) where no answer comes within 3 s.
 */
export function openRedisCheck({ clock, ledger }: Pick<App, 'clock' | 'ledger'>): () => Promise<void> {
  let open: { readonly askedAt: number; readonly answer: Promise<unknown> } | undefined;
  let silentSince: number | undefined;

  async function ask(): Promise<void> {
    try {
      await ledger.outages.read();
      silentSince = undefined;
    } finally {
      open = undefined;
    }
  }

  return async () => {
    // A question that fails is followed by others in the same outage.
    const since = (silentSince ??= clock.now());
    open ??= { askedAt: clock.monotonic(), answer: ask() };
    const { askedAt, answer } = open;
    const waiting = new AbortController();
    const late = clock.sleep(Math.max(0, askedAt + SILENT_MS_MAX - clock.monotonic()), waiting.signal).then(() => {
      throw new Problem(
        503,
        `Redis, which holds the ledger, has not answered since ${rfc3339(since)}. Nothing was done.`,
        'payrun keeps trying and goes on by itself: try again in a moment. If it stays, tell whoever runs payrun.',
      );
    });
    await Promise.race([answer, late]).finally(() => waiting.abort());
  };
}
