import type { App } from '../src/app.ts';
import type { PayDeps } from '../src/pay/deps.ts';
import type { Run } from '../src/payout.ts';
import type { Gate } from './gate.ts';
import type { JobQueues } from './open.ts';

/** What processors work with. */
export interface JobDeps {
  readonly app: App<JobQueues>;
  readonly pay: PayDeps;
  /** Whether what people and files said of a run is as payrun wrote it; if not, it was stopped. */
  readonly isSealed: (run: Run) => Promise<boolean>;
  /** Payouts in work at a time, look-ups, and payments that are followed. */
  readonly payGate: Gate;
  readonly lookGate: Gate;
  readonly trackGate: Gate;
  /** Aborted when the worker stops: nothing new is begun. */
  readonly stopping: AbortSignal;
}
