import type { App } from '../../app.ts';
import type { RunFunds } from '../../money.ts';
import type { Run } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { areFundsFresh, askRunFunds } from '../../runs/preview/run-funds.ts';

/** Runs about which the service is asked at a time. */
const ASKED_MAX = 4;
const QUOTING_MS_MAX = 60_000;
/** So long the page waits for the answer; it is shown later otherwise. */
const WAIT_MS = 1500;
/** Of a run about which the service told nothing it is asked again after this long. */
const REST_MS = 60_000;
const RUNS_KEPT_MAX = 200;

/** What a run needs by quotes, and whether that is being found out. */
export interface FundsSeen {
  readonly funds: RunFunds | null;
  readonly isAsking: boolean;
}

export interface FundsAsking {
  /** What is known; asks where it is not, or was for other payouts, and waits a moment for the answer. */
  see(run: Run): Promise<FundsSeen>;
  /** Ends the asking; nothing waits for a service that does not answer. */
  close(): void;
}

/** Asks by itself what runs need that wait for approval, whichever way they came. */
export function openFundsAsking(app: App): FundsAsking {
  const asked = new Map<string, Promise<void>>();
  const found = new Map<string, { readonly at: number; readonly funds: RunFunds | null }>();
  const closing = new AbortController();

  async function ask(run: Run): Promise<void> {
    let funds: RunFunds | null = null;
    try {
      funds = await askRunFunds(app, run, { timeMsMax: QUOTING_MS_MAX, signal: closing.signal });
    } catch (error) {
      if (closing.signal.aborted) return;
      if (error instanceof Refusal) app.log.debug('nobody knows what a run needs', { run: run.id, error });
      else app.log.warn('nobody knows what a run needs', { run: run.id, error });
    } finally {
      asked.delete(run.id);
      found.delete(run.id);
      found.set(run.id, { at: app.clock.now(), funds });
      const [oldest] = found.keys();
      if (found.size > RUNS_KEPT_MAX && oldest !== undefined) found.delete(oldest);
    }
  }

  function mayAsk({ id, counts }: Run): boolean {
    const rests = app.clock.now() - (found.get(id)?.at ?? 0) < REST_MS;
    return counts.ready > 0 && !rests && asked.size < ASKED_MAX && !closing.signal.aborted;
  }

  return {
    async see(run) {
      if (areFundsFresh(app, run)) return { funds: run.funds, isAsking: false };
      const asking = asked.get(run.id) ?? (mayAsk(run) ? ask(run) : undefined);
      if (asking === undefined) return { funds: found.get(run.id)?.funds ?? run.funds, isAsking: false };
      asked.set(run.id, asking);
      const waited = new AbortController();
      await Promise.race([asking, app.clock.sleep(WAIT_MS, waited.signal)]);
      waited.abort();
      return { funds: found.get(run.id)?.funds ?? run.funds, isAsking: asked.has(run.id) };
    },
    close: () => closing.abort(),
  };
}
